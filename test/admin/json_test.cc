// Goal: what the writer writes is JSON that means what was said. Method: Protobuf's parser reads it
// back.

#include "source/admin/json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "test/admin/parse_json.h"

namespace admin {
namespace {

TEST(JsonWriterTest, WritesNestedValuesOfEveryKind) {
  JsonWriter out;
  out.beginObject();
  out.member("text", "say \"hi\"\n\xff");
  out.member("big", UINT64_MAX);
  out.member("small", int64_t{-5});
  out.member("half", 0.5);
  out.member("nothing", std::nan(""));
  out.member("yes", true);
  out.beginArray("list");
  out.number(uint64_t{1});
  out.beginObject();
  out.endObject();
  out.beginArray();
  out.endArray();
  out.null();
  out.endArray();
  out.key("raw");
  out.raw("{\"a\": [1]}");
  out.endObject();
  const std::string text = out.take();
  EXPECT_NE(text.find("\"big\": 18446744073709551615"), std::string::npos);
  const Json json = parseJson(text);
  EXPECT_EQ(textAt(json, "text"), "say \"hi\"\n\u00ff");
  EXPECT_EQ(numberAt(json, "small"), -5);
  EXPECT_EQ(numberAt(json, "half"), 0.5);
  EXPECT_TRUE(at(json, "nothing").has_null_value());
  EXPECT_TRUE(at(json, "yes").bool_value());
  EXPECT_EQ(at(json, "list").list_value().values_size(), 4);
  EXPECT_EQ(numberAt(json, "raw.a.0"), 1);
  EXPECT_EQ(text.back(), '\n');
}

TEST(JsonWriterTest, IndentsByLevel) {
  JsonWriter out;
  out.beginObject();
  out.beginArray("a");
  out.number(uint64_t{1});
  out.number(uint64_t{2});
  out.endArray();
  out.beginArray("b");
  out.endArray();
  out.endObject();
  EXPECT_EQ(out.take(), "{\n \"a\": [\n  1,\n  2\n ],\n \"b\": []\n}\n");
}

}  // namespace
}  // namespace admin
