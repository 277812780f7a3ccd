// Goal: field names and field sections. Method: every registered name in several letter cases, near
// misses of every name, and small sections checked against counting by hand.
#include "source/http/head.h"

#include <gtest/gtest.h>

#include <string>

namespace http {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

TEST(NameOf, FindsEveryNameInAnyLetterCase) {
  for (size_t i = 1; i < kNameCount; i++) {
    const Name name = static_cast<Name>(i);
    const std::string text(spelling(name));
    ASSERT_FALSE(text.empty()) << i;
    EXPECT_EQ(nameOf(text), name) << text;
    EXPECT_EQ(nameOf(upper(text)), name) << text;
    std::string mixed = text;
    mixed[0] = static_cast<char>(mixed[0] ^ 0x20);
    EXPECT_EQ(nameOf(mixed), name) << mixed;
  }
}

TEST(NameOf, SpellingsMatchTheirEnumerators) {
  EXPECT_EQ(spelling(Name::other), "");
  EXPECT_EQ(spelling(Name::accept), "Accept");
  EXPECT_EQ(spelling(Name::cache_control), "Cache-Control");
  EXPECT_EQ(spelling(Name::cdn_cache_control), "CDN-Cache-Control");
  EXPECT_EQ(spelling(Name::content_length), "Content-Length");
  EXPECT_EQ(spelling(Name::etag), "ETag");
  EXPECT_EQ(spelling(Name::host), "Host");
  EXPECT_EQ(spelling(Name::http2_settings), "HTTP2-Settings");
  EXPECT_EQ(spelling(Name::if_none_match), "If-None-Match");
  EXPECT_EQ(spelling(Name::set_cookie), "Set-Cookie");
  EXPECT_EQ(spelling(Name::te), "TE");
  EXPECT_EQ(spelling(Name::transfer_encoding), "Transfer-Encoding");
  EXPECT_EQ(spelling(Name::vary), "Vary");
  EXPECT_EQ(spelling(Name::www_authenticate), "WWW-Authenticate");
  EXPECT_EQ(spelling(Name::x_forwarded_proto), "X-Forwarded-Proto");
}

TEST(NameOf, RefusesNearMisses) {
  for (size_t i = 1; i < kNameCount; i++) {
    const std::string text(spelling(static_cast<Name>(i)));
    EXPECT_EQ(nameOf(text + "x"), Name::other) << text;
    EXPECT_EQ(nameOf("x" + text), Name::other) << text;
    for (size_t at = 0; at < text.size(); at++) {
      std::string changed = text;
      changed[at] = '~';
      EXPECT_EQ(nameOf(changed), Name::other) << changed;
      // Bits that letter case does not touch.
      changed[at] = static_cast<char>(text[at] ^ 0x40);
      EXPECT_EQ(nameOf(changed), Name::other) << changed;
      changed[at] = static_cast<char>(text[at] ^ 0x80);
      EXPECT_EQ(nameOf(changed), Name::other) << changed;
    }
  }
  EXPECT_EQ(nameOf(""), Name::other);
  EXPECT_EQ(nameOf("cache\rcontrol"), Name::other);  // CR is "-" without its case bit
  EXPECT_EQ(nameOf(std::string(1000, 'a')), Name::other);
}

TEST(EqualsIgnoreCase, FoldsLettersOnly) {
  EXPECT_TRUE(equalsIgnoreCase("", ""));
  EXPECT_TRUE(equalsIgnoreCase("aZ-9", "Az-9"));
  EXPECT_FALSE(equalsIgnoreCase("a", "ab"));
  EXPECT_FALSE(equalsIgnoreCase("[", "{"));
  EXPECT_FALSE(equalsIgnoreCase("@", "`"));
  EXPECT_FALSE(equalsIgnoreCase("\xc4", "\xe4"));
}

TEST(Fields, KeepOrderAndFindTheFirst) {
  Fields fields;
  fields.add("Vary", "a");
  fields.add("X-Own", "1");
  fields.add("vary", "b");
  fields.add("x-own", "2");
  EXPECT_EQ(fields.size(), 4U);
  EXPECT_TRUE(fields.has(Name::vary));
  EXPECT_FALSE(fields.has(Name::age));
  EXPECT_EQ(fields.value(Name::vary), "a");
  EXPECT_EQ(fields.value(Name::age), "");
  EXPECT_EQ(fields.find(Name::age), nullptr);
  EXPECT_EQ(fields.count(Name::vary), 2U);
  EXPECT_EQ(fields.count(Name::age), 0U);
  ASSERT_NE(fields.find("X-OWN"), nullptr);
  EXPECT_EQ(fields.find("X-OWN")->value, "1");
  EXPECT_EQ(fields.find("VARY")->value, "a");
  EXPECT_EQ(fields.find("x-none"), nullptr);
  EXPECT_EQ(fields.all()[3].name, "x-own");
}

TEST(Fields, ClearForgetsEverything) {
  Fields fields;
  fields.add("Vary", "a");
  fields.clear();
  EXPECT_EQ(fields.size(), 0U);
  EXPECT_FALSE(fields.has(Name::vary));
  fields.add("Age", "1");
  EXPECT_EQ(fields.value(Name::age), "1");
}

}  // namespace
}  // namespace http
