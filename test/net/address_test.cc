// Goal: socket addresses are read and written as RFC 4291 and RFC 5952 say, and nothing else is
// taken for one. Method: tables of texts; real sockets for the two ends of a connection.

#include "source/net/address.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace net {
namespace {

std::string roundTrip(std::string_view ip, uint16_t port) {
  const std::optional<Address> address = Address::parse(ip, port);
  return address ? address->text() : "none";
}

TEST(Address, ReadsAndWritesBothFamilies) {
  EXPECT_EQ(roundTrip("127.0.0.1", 80), "127.0.0.1:80");
  EXPECT_EQ(roundTrip("0.0.0.0", 0), "0.0.0.0:0");
  EXPECT_EQ(roundTrip("255.255.255.255", 65535), "255.255.255.255:65535");
  EXPECT_EQ(roundTrip("::", 8080), "[::]:8080");
  EXPECT_EQ(roundTrip("::1", 80), "[::1]:80");
  EXPECT_EQ(roundTrip("2001:DB8:0:0:0:0:0:1", 443), "[2001:db8::1]:443");
  EXPECT_EQ(roundTrip("::ffff:10.1.2.3", 1), "[::ffff:10.1.2.3]:1");
  EXPECT_EQ(roundTrip("fe80::1%1", 80), "[fe80::1%1]:80");
  EXPECT_EQ(roundTrip("fe80::1%lo", 80), "[fe80::1%1]:80");
}

TEST(Address, WritesTheLongestTextThereIs) {
  EXPECT_EQ(roundTrip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295", 65535),
            "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:65535");
}

TEST(Address, TakesNothingElseForAnAddress) {
  const std::string_view wrong[] = {
      "",           "localhost",  "1.2.3",   "1.2.3.4.5", "256.0.0.1",     "01.2.3.4", "1.2.3.4 ",
      " 1.2.3.4",   "1.2.3.4:80", "[::1]",   ":::",       "1::2::3",       "::1%",     "::1%nope0",
      "1.2.3.4%lo", "::1%0",      "12345::", "g::",       "::1.2.3.4.5.6", "*"};
  for (const std::string_view text : wrong) {
    EXPECT_FALSE(Address::parse(text, 80)) << text;
  }
  EXPECT_FALSE(Address::parse(std::string_view("127.0.0.1\0x", 11), 80));
  EXPECT_FALSE(Address::parse(std::string(300, '1'), 80));
}

TEST(Address, ComparesByFamilyBytesScopeAndPort) {
  const Address a = *Address::parse("10.0.0.1", 80);
  EXPECT_EQ(a, *Address::parse("10.0.0.1", 80));
  EXPECT_FALSE(a == *Address::parse("10.0.0.1", 81));
  EXPECT_FALSE(a == *Address::parse("10.0.0.2", 80));
  EXPECT_FALSE(a == *Address::parse("::ffff:10.0.0.1", 80));
  EXPECT_FALSE(*Address::parse("fe80::1%1", 80) == *Address::parse("fe80::1%2", 80));
  EXPECT_FALSE(a == Address());
  EXPECT_EQ(Address(), Address());
}

TEST(Address, KnowsWildcardsAndLoopback) {
  for (const char* wildcard : {"0.0.0.0", "::"}) {
    EXPECT_TRUE(Address::parse(wildcard, 1)->isWildcard()) << wildcard;
    EXPECT_FALSE(Address::parse(wildcard, 1)->isLoopback()) << wildcard;
  }
  for (const char* loopback : {"127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.2"}) {
    EXPECT_TRUE(Address::parse(loopback, 1)->isLoopback()) << loopback;
    EXPECT_FALSE(Address::parse(loopback, 1)->isWildcard()) << loopback;
  }
  for (const char* other : {"128.0.0.1", "10.0.0.1", "::2", "::ffff:10.0.0.1"}) {
    EXPECT_FALSE(Address::parse(other, 1)->isLoopback()) << other;
    EXPECT_FALSE(Address::parse(other, 1)->isWildcard()) << other;
  }
}

TEST(Address, NoAddressIsADash) {
  const Address none;
  EXPECT_FALSE(none.valid());
  EXPECT_FALSE(none.isWildcard());
  EXPECT_FALSE(none.isLoopback());
  EXPECT_EQ(none.text(), "-");
  EXPECT_EQ(none.length(), 0u);
}

TEST(Address, TakesWhatTheKernelGivesOfTheTwoEnds) {
  const Address any = *Address::parse("127.0.0.1", 0);
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listening, any.data(), any.length()), 0);
  ASSERT_EQ(listen(listening, 1), 0);
  const Address server = Address::localOf(listening);
  EXPECT_NE(server.port(), 0);
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(connect(client, server.data(), server.length()), 0);
  EXPECT_EQ(Address::peerOf(client), server);
  EXPECT_EQ(Address::localOf(client).text().substr(0, 10), "127.0.0.1:");
  EXPECT_FALSE(Address::peerOf(listening).valid());
  close(client);
  close(listening);
  EXPECT_FALSE(Address::localOf(client).valid());
}

TEST(Address, TakesNoShortOrForeignSockaddr) {
  const Address v6 = *Address::parse("::1", 80);
  EXPECT_EQ(Address::fromSockaddr(v6.data(), v6.length()), v6);
  EXPECT_FALSE(Address::fromSockaddr(v6.data(), v6.length() - 1).valid());
  sockaddr_in unix_like{};
  unix_like.sin_family = AF_UNIX;
  EXPECT_FALSE(
      Address::fromSockaddr(reinterpret_cast<sockaddr*>(&unix_like), sizeof(unix_like)).valid());
}

}  // namespace
}  // namespace net
