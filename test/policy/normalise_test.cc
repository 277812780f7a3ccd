// Goal: a normalised request has one coding, one language and the cookies of its key, chosen as RFC
// 9110 12.5 and RFC 4647 say. Method: one row a clause.
#include "source/policy/normalise.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "source/policy/vary.h"
#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::enabledRoute;
using testing::FieldRows;
using testing::fieldsOf;

using Offered = std::vector<std::string>;

TEST(ChooseEncoding, TheFirstThatIsAccepted) {  // RFC 9110 12.5.3
  struct Row {
    std::string_view accepts;
    std::string_view chosen;
  };
  const Row rows[] = {
      {"gzip, deflate, br", "br"},
      {"gzip, deflate", "gzip"},
      {"GZIP", "gzip"},
      {"br;q=0, gzip", "gzip"},
      {"br;q=0.1, gzip", "br"},
      {"*", "br"},
      {"*;q=0", ""},
      {"br;q=0, *", "gzip"},
      {"identity", ""},
      {"", ""},
      {"gzip;q=x, br;q=0", ""},
      {"gzip;q=0.001", "gzip"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(chooseEncoding(fieldsOf(FieldRows{{"Accept-Encoding", row.accepts}}),
                             Offered{"br", "gzip"}),
              row.chosen)
        << row.accepts;
  }
  EXPECT_EQ(chooseEncoding(fieldsOf(FieldRows{}), Offered{"br"}), "");
  EXPECT_EQ(
      chooseEncoding(fieldsOf(FieldRows{{"Accept-Encoding", "gzip"}, {"Accept-Encoding", "br"}}),
                     Offered{"br", "gzip"}),
      "br");
}

TEST(ChooseLanguage, TheOneWithTheGreatestWeight) {  // RFC 9110 12.5.4, RFC 4647 3.3.1
  struct Row {
    std::string_view accepts;
    std::string_view chosen;
  };
  const Row rows[] = {
      {"fr;q=0.5, de;q=1.0", "de"},
      {"fr, de", "de"},  // of equals the first that is offered
      {"fr;q=0.9, de;q=0.8", "fr"},
      {"en", ""},
      {"en, *;q=0.1", "de"},
      {"*, de;q=0.1, de-ch;q=0", "fr"},  // the longest range that fits counts
      {"de-CH", "de-ch"},
      {"DE-ch, de;q=0.5", "de-ch"},
      {"d", ""},
      {"de;q=0", ""},
      {"", ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(chooseLanguage(fieldsOf(FieldRows{{"Accept-Language", row.accepts}}),
                             Offered{"de", "fr", "de-ch"}),
              row.chosen)
        << row.accepts;
  }
}

TEST(NormaliseRequest, ReplacesOnlyWhatTheRouteSays) {
  RoutePolicy route = enabledRoute();
  const FieldRows rows = {{"Accept-Encoding", "gzip, br"},
                          {"Accept-Language", "fr"},
                          {"Cookie", "a=1; b=2; c=3"},
                          {"Accept", "*/*"}};
  const auto after = [&](const RoutePolicy& how) {
    http::Fields fields = fieldsOf(rows);
    http::Fields spare;
    std::string text;
    normaliseRequest(how, fields, spare, text);
    std::string out;
    for (const http::Field& field : fields.all()) {
      out.append(field.name).append("=").append(field.value).append("|");
    }
    return out;
  };
  EXPECT_EQ(after(route),
            "Accept-Encoding=gzip, br|Accept-Language=fr|Cookie=a=1; b=2; c=3|Accept=*/*|");
  route.accept_encodings = {"br"};
  EXPECT_EQ(after(route), "Accept-Language=fr|Cookie=a=1; b=2; c=3|Accept=*/*|Accept-Encoding=br|");
  route.accept_languages = {"de"};
  EXPECT_EQ(after(route), "Cookie=a=1; b=2; c=3|Accept=*/*|Accept-Encoding=br|");
  route.request_cookies = RequestCookies::strip;
  EXPECT_EQ(after(route), "Accept=*/*|Accept-Encoding=br|");
  route.key.cookies = {"a", "c"};
  EXPECT_EQ(after(route), "Accept=*/*|Accept-Encoding=br|Cookie=a=1; c=3|");
}

TEST(CookiesInTheKey, OnlyTheNamedOnesCount) {  // RFC 6265 4.2.1
  const std::vector<std::string> names = {"cookie;b", "x"};
  const auto variant = [&names](FieldRows rows) {
    std::string key = "k";
    appendVariantKey(names, fieldsOf(rows), key);
    return key;
  };
  EXPECT_EQ(variant({{"Cookie", "a=1; b=2"}}), "k\ncookie;b: 2\nx");
  EXPECT_EQ(variant({{"Cookie", "b=2; a=9"}}), "k\ncookie;b: 2\nx");
  EXPECT_EQ(variant({{"Cookie", "a=1"}, {"Cookie", "b=3;b=4"}}), "k\ncookie;b: 3\nx");
  EXPECT_EQ(variant({{"Cookie", "B=2"}}), "k\ncookie;b\nx");
  EXPECT_EQ(variant({{"Cookie", "b="}}), "k\ncookie;b: \nx");
  EXPECT_EQ(variant({}), "k\ncookie;b\nx");
  // Named in Connection, the cookie does not reach the origin (RFC 9110 7.6.1).
  EXPECT_EQ(variant({{"Cookie", "b=2"}, {"Connection", "cookie"}}), "k\ncookie;b\nx");
}

}  // namespace
}  // namespace policy
