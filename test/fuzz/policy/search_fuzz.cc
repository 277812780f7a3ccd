// Goal: No-Vary-Search is total over arbitrary bytes; a variance survives its description; what is
// equivalent is so in both directions and for ever, and what does not count can be left out.
// Input: two lines, the field's value and a query.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "source/base/check.h"
#include "source/http/grammar.h"
#include "source/policy/search.h"

namespace {

std::string varianceOf(std::string_view value) {
  http::Fields fields;
  fields.add("No-Vary-Search", value);
  return policy::searchVarianceOf(fields);
}

std::string canonical(const std::string& variance, std::string_view query) {
  std::string out;
  policy::appendCanonicalQuery(variance, query, out);
  CHECK(out.empty() || out.front() == '?');
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view value = http::trimOws(text.substr(0, end));
  const std::string_view query = text.substr(std::min(end + 1, text.size()));
  if (!http::isFieldValue(value)) {
    return 0;
  }
  const std::string variance = varianceOf(value);
  CHECK(variance.size() <= policy::kMaxSearchBytes);
  const std::string described = policy::describeSearch(variance);
  CHECK(variance.empty() == described.empty());
  CHECK(varianceOf(described) == variance);
  if (variance.empty() || !http::all(http::kTargetChar, query)) {
    return 0;
  }
  const std::string once = canonical(variance, query);
  CHECK(http::all(http::kTargetChar, once));
  const std::string_view bare = std::string_view(once).substr(once.empty() ? 0 : 1);
  const size_t parameters = 1 + static_cast<size_t>(std::count(bare.begin(), bare.end(), '&'));
  if (parameters > policy::kMaxSearchParameters) {
    CHECK(bare == query);
    return 0;
  }
  CHECK(canonical(variance, bare) == once);
  CHECK(canonical(variance, std::string(query) + "&&") == once);
  // A parameter of a name that is listed nowhere else counts exactly if the names are those that do
  // not.
  const std::string more = canonical(variance, std::string(query) + "&never-listed-name=1");
  const bool ignores_all = variance.substr(0, variance.find('\n')).find('*') != std::string::npos;
  if (variance.find("never-listed-name") == std::string::npos &&
      parameters < policy::kMaxSearchParameters) {
    CHECK((more == once) == ignores_all);
  }
  return 0;
}
