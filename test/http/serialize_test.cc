// Goal: heads are written byte for byte, into buffers of any size. Method: exact texts, every
// buffer size around what is needed, and reading back what was written.
#include "source/http/serialize.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "source/http/codec.h"

namespace http {
namespace {

void writeAll(HeadWriter& writer) {
  writer.statusLine(200);
  writer.field(Name::age, 0);
  writer.field(Name::etag, "\"x\"");
  writer.field("X-Own", "");
  writer.field("X-Max", UINT64_MAX);
  writer.field(Field{Name::vary, "vARY", "a"});
  writer.text("Raw: 1\r\n");
  writer.end();
}

constexpr std::string_view kWritten =
    "HTTP/1.1 200 OK\r\nAge: 0\r\nETag: \"x\"\r\nX-Own: \r\nX-Max: 18446744073709551615\r\n"
    "vARY: a\r\nRaw: 1\r\n\r\n";

TEST(HeadWriter, WritesExactly) {
  std::vector<char> out(1000);
  HeadWriter writer(out);
  writeAll(writer);
  EXPECT_TRUE(writer.ok());
  EXPECT_EQ(writer.written(), kWritten);
}

TEST(HeadWriter, StopsAtTheFirstThatDoesNotFit) {
  for (size_t size = 0; size <= kWritten.size(); size++) {
    std::vector<char> out(size);
    HeadWriter writer(out);
    writeAll(writer);
    EXPECT_EQ(writer.ok(), size == kWritten.size()) << size;
    EXPECT_LE(writer.size(), size);
    EXPECT_TRUE(kWritten.starts_with(writer.written())) << size;
    EXPECT_TRUE(writer.written().empty() || writer.written().ends_with("\r\n")) << size;
  }
}

TEST(StatusLine, PhrasesAndNumbers) {
  std::string out;
  appendStatusLine(out, 404);
  appendStatusLine(out, 200, "Fine");
  appendStatusLine(out, 299);
  appendStatusLine(out, 799);
  EXPECT_EQ(out,
            "HTTP/1.1 404 Not Found\r\nHTTP/1.1 200 Fine\r\nHTTP/1.1 299 \r\nHTTP/1.1 799 \r\n");
}

TEST(ReasonPhrase, Registered) {
  EXPECT_EQ(reasonPhrase(100), "Continue");
  EXPECT_EQ(reasonPhrase(206), "Partial Content");
  EXPECT_EQ(reasonPhrase(304), "Not Modified");
  EXPECT_EQ(reasonPhrase(431), "Request Header Fields Too Large");
  EXPECT_EQ(reasonPhrase(504), "Gateway Timeout");
  EXPECT_EQ(reasonPhrase(599), "");
  EXPECT_EQ(reasonPhrase(600), "");
  EXPECT_EQ(reasonPhrase(65535), "");
}

TEST(Append, RequestReadsBack) {
  std::string out;
  Fields fields;
  fields.add("Host", "a");
  fields.add("X", "y z");
  appendRequestLine(out, "GET", "/p?q");
  appendFields(out, fields);
  appendField(out, Name::content_length, 12);
  appendField(out, "Empty", std::string_view());
  appendHeadEnd(out);
  EXPECT_EQ(out, "GET /p?q HTTP/1.1\r\nHost: a\r\nX: y z\r\nContent-Length: 12\r\nEmpty: \r\n\r\n");
  RequestHead head;
  const ParseOutcome outcome = parseRequestHead(out, {}, head);
  ASSERT_TRUE(std::holds_alternative<Parsed>(outcome));
  EXPECT_EQ(std::get<Parsed>(outcome).consumed, out.size());
  EXPECT_EQ(head.fields.find("X")->value, "y z");
}

TEST(WriteDecimal, Numbers) {
  std::array<char, kDecimalSize> out;
  EXPECT_EQ(writeDecimal(0, out), "0");
  EXPECT_EQ(writeDecimal(9, out), "9");
  EXPECT_EQ(writeDecimal(10, out), "10");
  EXPECT_EQ(writeDecimal(UINT64_MAX, out), "18446744073709551615");
}

}  // namespace
}  // namespace http
