// Goal: Surrogate-Control and targeted fields are read from arbitrary bytes, and once one of them
// governs nothing that Cache-Control says matters.
// Input: lines; the first is a Cache-Control, the others are Surrogate-Control.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "source/base/check.h"
#include "source/http/grammar.h"
#include "source/policy/targeted.h"

namespace {

bool same(const policy::ResponseDirectives& a, const policy::ResponseDirectives& b) {
  return a.no_store == b.no_store && a.no_cache == b.no_cache &&
         a.must_revalidate == b.must_revalidate && a.max_age == b.max_age &&
         a.s_maxage == b.s_maxage && a.stale_while_revalidate == b.stale_while_revalidate;
}

void checkGoverning(const http::Fields& response, std::string_view other, std::string_view name,
                    bool valid) {
  policy::RoutePolicy route;
  route.enabled = true;
  route.targeted = {std::string(name)};
  const policy::Governing alone = policy::governing(response, route);
  CHECK((alone.field == name) == valid);
  CHECK(!valid || !alone.expires);
  if (!valid || !http::isFieldValue(other)) {
    return;
  }
  http::Fields more;
  for (const http::Field& field : response.all()) {
    more.add(field.name, field.value);
  }
  more.add("Cache-Control", other);
  more.add("Expires", "0");
  const policy::Governing both = policy::governing(more, route);
  CHECK(both.field == name && !both.expires);
  CHECK(same(both.said, alone.said));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t first = std::min(text.find('\n'), text.size());
  const std::string_view other = http::trimOws(text.substr(0, first));
  text.remove_prefix(std::min(first + 1, text.size()));
  http::Fields surrogate;
  http::Fields targeted;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = http::trimOws(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (http::isFieldValue(line)) {
      surrogate.add("Surrogate-Control", line);
      targeted.add("CDN-Cache-Control", line);
    }
  }
  policy::ResponseDirectives said;
  checkGoverning(surrogate, other, policy::kSurrogateControl,
                 policy::parseSurrogateControl(surrogate, said));
  policy::ResponseDirectives told;
  checkGoverning(targeted, other, "cdn-cache-control",
                 policy::parseTargeted(targeted, "cdn-cache-control", told));
  return 0;
}
