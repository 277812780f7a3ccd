// Goal: what is kept with a response comes back as it was, other bytes are refused, and a stored
// head has what it must have and nothing that is made anew at each use. Method: round trips, each
// field of the encoding damaged in turn, and heads whose stored form follows from RFC 9111.
#include "source/cache/object.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "source/http/codec.h"

namespace cache {
namespace {

constexpr base::UnixSeconds kNow{784'111'777};  // Sun, 06 Nov 1994 08:49:37 GMT

StoredHead someHead(std::string_view text) {
  StoredHead head;
  head.status = 404;
  head.length_in_head = true;
  head.times = policy::Times{10, 20};
  head.received_s = 30;
  head.text = text;
  return head;
}

TEST(Meta, ComesBackAsItWas) {
  const std::string text = "HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n";
  std::vector<std::byte> meta{std::byte{1}};  // what was in it is replaced
  encodeMeta(someHead(text), meta);
  EXPECT_EQ(meta.size(), sizeof(MetaHeader) + text.size());
  const std::optional<StoredHead> head = decodeMeta(meta);
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->status, 404);
  EXPECT_TRUE(head->length_in_head);
  EXPECT_EQ(head->times, (policy::Times{10, 20}));
  EXPECT_EQ(head->received_s, 30U);
  EXPECT_EQ(head->text, text);
  EXPECT_EQ(head->open(), "HTTP/1.1 404 Not Found\r\nA: b\r\n");
}

TEST(Meta, OfAnotherLengthOrVersionOrStatusIsRefused) {
  std::vector<std::byte> meta;
  encodeMeta(someHead("HTTP/1.1 404 Not Found\r\n\r\n"), meta);
  for (size_t length = 0; length < meta.size(); length++) {
    EXPECT_FALSE(decodeMeta(std::span(meta).first(length)).has_value()) << length;
  }
  std::vector<std::byte> longer = meta;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decodeMeta(longer).has_value());
  for (const auto& [version, status] :
       {std::pair(kMetaVersion - 1, 200), std::pair(kSlicedMetaVersion + 1, 200), std::pair(0, 200),
        std::pair(int{kMetaVersion}, 99), std::pair(int{kMetaVersion}, 1000),
        std::pair(int{kMetaVersion}, 0)}) {
    MetaHeader header;
    std::memcpy(&header, meta.data(), sizeof header);
    header.version = static_cast<uint16_t>(version);
    header.status = static_cast<uint16_t>(status);
    std::vector<std::byte> changed = meta;
    std::memcpy(changed.data(), &header, sizeof header);
    EXPECT_FALSE(decodeMeta(changed).has_value()) << version << " " << status;
  }
  meta.back() = std::byte{'x'};  // no blank line
  EXPECT_FALSE(decodeMeta(meta).has_value());
}

TEST(VaryRules, ComeBackAsTheyWere) {
  for (const std::string names : {"", "accept", "accept,accept-language"}) {
    std::vector<std::byte> meta;
    encodeVaryRule(VaryRule{0x1234567890abcdefULL, names}, meta);
    const std::optional<VaryRule> rule = decodeVaryRule(meta);
    ASSERT_TRUE(rule.has_value());
    EXPECT_EQ(rule->id, 0x1234567890abcdefULL);
    EXPECT_EQ(rule->names, names);
    for (size_t length = 0; length < meta.size(); length++) {
      EXPECT_FALSE(decodeVaryRule(std::span(meta).first(length)).has_value());
    }
    meta.push_back(std::byte{0});
    EXPECT_FALSE(decodeVaryRule(meta).has_value());
    meta.pop_back();
    meta[0] ^= std::byte{0x10};
    EXPECT_FALSE(decodeVaryRule(meta).has_value());
  }
}

struct Parsed {
  std::string text;
  http::ResponseHead head;
};

void parse(std::string text, Parsed& out) {
  out.text = std::move(text);
  ASSERT_TRUE(std::holds_alternative<http::Parsed>(
      http::parseResponseHead(out.text, http::Limits(), out.head)));
}

std::string storedText(const std::string& response, std::optional<uint64_t> length) {
  Parsed parsed;
  parse(response, parsed);
  const policy::Store store;
  return makeHeadText(parsed.head, policy::StoredFields(parsed.head.fields, store), length, kNow)
      .text;
}

TEST(HeadText, KeepsWhatIsEndToEndInItsOrder) {
  EXPECT_EQ(storedText("HTTP/1.1 200 Fine\r\nDate: Sun, 06 Nov 1994 08:49:00 GMT\r\nB: 1\r\n"
                       "A: 2\r\nB: 3\r\n\r\n",
                       std::nullopt),
            "HTTP/1.1 200 Fine\r\nDate: Sun, 06 Nov 1994 08:49:00 GMT\r\nB: 1\r\nA: 2\r\n"
            "B: 3\r\n\r\n");
}

// RFC 9111 3.1 and 5.1, RFC 9110 7.6.1.
TEST(HeadText, LeavesOutWhatBelongsToTheConnectionOrIsMadeAnew) {
  const std::string text = storedText(
      "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:00 GMT\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
      "Keep-Alive: 5\r\nTransfer-Encoding: chunked\r\nAge: 7\r\nCache-Status: other; hit\r\n"
      "X-End: 1\r\n\r\n",
      std::nullopt);
  EXPECT_EQ(text, "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:00 GMT\r\nX-End: 1\r\n\r\n");
}

TEST(HeadText, SaysTheLengthThatIsKnownAndNoOther) {
  const std::string response =
      "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:00 GMT\r\nContent-Length: 5\r\n\r\n";
  EXPECT_EQ(storedText(response, 5).find("Content-Length: 5\r\n"), size_t{54});
  EXPECT_EQ(storedText(response, std::nullopt).find("Content-Length"), std::string::npos);
}

// RFC 9110 6.6.1: a recipient that caches a response without Date adds the time it came.
TEST(HeadText, AddsADateWhenThereIsNone) {
  EXPECT_NE(storedText("HTTP/1.1 200 OK\r\n\r\n", std::nullopt)
                .find("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
            std::string::npos);
}

TEST(Variants, HaveKeysThatNeverMeet) {
  const std::string one = "GET / HTTP/1.1\r\nHost: h\r\nAccept: a\r\n\r\n";
  const std::string two = "GET / HTTP/1.1\r\nHost: h\r\nAccept: b\r\n\r\n";
  http::RequestHead first;
  http::RequestHead second;
  ASSERT_TRUE(
      std::holds_alternative<http::Parsed>(http::parseRequestHead(one, http::Limits(), first)));
  ASSERT_TRUE(
      std::holds_alternative<http::Parsed>(http::parseRequestHead(two, http::Limits(), second)));
  const auto keyOf = [](uint64_t id, const http::RequestHead& head) {
    std::string key = "http://h/";
    appendVariant(VaryRule{id, "accept"}, head.fields, key);
    return key;
  };
  EXPECT_EQ(keyOf(1, first), keyOf(1, first));
  EXPECT_NE(keyOf(1, first), keyOf(1, second));
  EXPECT_NE(keyOf(1, first), keyOf(2, first));              // of a rule that has gone
  EXPECT_TRUE(keyOf(1, first).starts_with("http://h/\n"));  // no URL has a line end
}

}  // namespace
}  // namespace cache
