// Goal: connection-specific fields are told from the others (RFC 9110 7.6.1). Method: one section a
// case.
#include "source/http/hop_by_hop.h"

#include <gtest/gtest.h>

#include <string>

namespace http {
namespace {

// The names that go on to the next hop.
std::string kept(std::initializer_list<std::pair<std::string_view, std::string_view>> section) {
  Fields fields;
  for (const auto& [name, value] : section) {
    fields.add(name, value);
  }
  const HopByHop hop_by_hop(fields);
  std::string out;
  for (const Field& field : fields.all()) {
    out += hop_by_hop.covers(field) ? "" : std::string(field.name) + " ";
  }
  return out;
}

TEST(HopByHop, TheFixedList) {
  EXPECT_EQ(kept({{"Connection", "close"},
                  {"Keep-Alive", "timeout=5"},
                  {"Proxy-Connection", "keep-alive"},
                  {"TE", "trailers"},
                  {"Transfer-Encoding", "chunked"},
                  {"Upgrade", "h2c"},
                  {"HTTP2-Settings", "x"},
                  {"Proxy-Authenticate", "x"},
                  {"Proxy-Authentication-Info", "x"},
                  {"Proxy-Authorization", "x"}}),
            "");
  EXPECT_EQ(kept({{"Host", "a"}, {"Trailer", "X"}, {"Set-Cookie", "a=b"}, {"X", "y"}}),
            "Host Trailer Set-Cookie X ");
}

TEST(HopByHop, NamedInConnection) {
  EXPECT_EQ(kept({{"Connection", "x-a, Cookie"},
                  {"X-A", "1"},
                  {"x-a", "2"},
                  {"Cookie", "c"},
                  {"X-B", "3"},
                  {"connection", "keep-alive,X-C"},
                  {"X-C", "4"}}),
            "X-B ");
  EXPECT_EQ(kept({{"Connection", "close"}, {"Close", "1"}}), "Close ");
}

TEST(HopByHop, NamingWhatTheMessageNeedsIsIgnored) {
  EXPECT_EQ(kept({{"Connection", "Host, Content-Length, Cache-Control, Vary, Age, Content-Type, x"},
                  {"Host", "a"},
                  {"Content-Length", "5"},
                  {"Cache-Control", "private"},
                  {"Vary", "x"},
                  {"Age", "1"},
                  {"Content-Type", "a/b"},
                  {"X", "y"}}),
            "Host Content-Length Cache-Control Vary Age Content-Type ");
}

}  // namespace
}  // namespace http
