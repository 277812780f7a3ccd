// Goal: a response to POST answers a later GET only where RFC 9110 9.3.3 allows it. Method: one row
// a condition.
#include <gtest/gtest.h>

#include <string_view>

#include "source/policy/response.h"
#include "test/policy/heads.h"

namespace policy {
namespace {

using testing::enabledRoute;
using testing::FieldRows;
using testing::kNow;
using testing::request;
using testing::response;

constexpr http::Effective kTarget{http::Scheme::http, "a", "/p", "q=1", true};

std::string_view verdict(std::string_view method, uint16_t status, FieldRows rows,
                         FieldRows asked = {}) {
  const StoreDecision decision =
      decideStoreOfPost(request(method, asked), kTarget, response(status, rows),
                        Exchange{kNow, kNow, 0}, enabledRoute());
  const auto* why = std::get_if<NoStoreReason>(&decision);
  return why == nullptr ? "stored" : name(*why);
}

TEST(DecideStoreOfPost, NeedsALifetimeAndTheTargetAsItsContentLocation) {  // RFC 9110 9.3.3
  struct Row {
    std::string_view location;
    std::string_view verdict;
  };
  const Row rows[] = {
      {"/p?q=1", "stored"},
      {"http://a/p?q=1", "stored"},
      {"http://A:80/p?q=1", "stored"},
      {"", "stored"},
      {"?q=1", "stored"},
      {"/x/../p?q=1", "stored"},
      {"/p", "method"},
      {"/p?q=2", "method"},
      {"http://b/p?q=1", "method"},
      {"https://a/p?q=1", "method"},
      {"/P?q=1", "method"},
      {"/p ?q=1", "method"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(
        verdict("POST", 200, {{"Cache-Control", "max-age=60"}, {"Content-Location", row.location}}),
        row.verdict)
        << row.location;
  }
  EXPECT_EQ(verdict("POST", 200, {{"Cache-Control", "max-age=60"}}), "method");
  EXPECT_EQ(
      verdict("POST", 200,
              {{"Content-Location", "/p?q=1"}, {"Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"}}),
      "method");
  EXPECT_EQ(verdict("POST", 200,
                    {{"Cache-Control", "max-age=60"},
                     {"Content-Location", "/p?q=1"},
                     {"Content-Location", "/p?q=1"}}),
            "method");
}

TEST(DecideStoreOfPost, IsOtherwiseDecidedLikeAGet) {
  const FieldRows good = {{"Cache-Control", "max-age=60"}, {"Content-Location", "/p?q=1"}};
  EXPECT_EQ(verdict("PUT", 200, good), "method");
  EXPECT_EQ(verdict("GET", 200, good), "method");
  EXPECT_EQ(verdict("POST", 201, good), "method");
  EXPECT_EQ(verdict("POST", 200,
                    {{"Cache-Control", "max-age=60, private"}, {"Content-Location", "/p?q=1"}}),
            "private");
  EXPECT_EQ(verdict("POST", 200, good, {{"Authorization", "Basic x"}}), "authorization");
  EXPECT_EQ(verdict("POST", 200, good, {{"Cache-Control", "no-store"}}), "request_no_store");
}

}  // namespace
}  // namespace policy
