// Goal: cache groups are read from arbitrary bytes within their limits, and what was read is read
// again from its own serialisation.
// Input: lines of Cache-Groups.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "source/base/check.h"
#include "source/http/grammar.h"
#include "source/http/structured.h"
#include "source/policy/groups.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  http::RequestHead request;
  request.method = "POST";
  http::ResponseHead response;
  response.status = 200;
  http::Fields fields;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = http::trimOws(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (http::isFieldValue(line)) {
      fields.add("Cache-Groups", line);
      response.fields.add("Cache-Group-Invalidation", line);
    }
  }
  const std::vector<std::string> groups = policy::groupsOf(fields);
  CHECK(groups.size() <= policy::kMaxGroups);
  CHECK(std::is_sorted(groups.begin(), groups.end()));
  CHECK(std::adjacent_find(groups.begin(), groups.end()) == groups.end());
  CHECK(policy::invalidatedGroups(request, response) == groups);
  std::string written;
  http::Effective one;
  one.authority = "a.example";
  http::Effective other;
  other.authority = "b.example";
  for (const std::string& group : groups) {
    CHECK(!group.empty() && group.size() <= policy::kMaxGroupBytes);
    CHECK(policy::groupTag(one, {}, group) != policy::groupTag(other, {}, group));
    written.append(written.empty() ? "" : ", ");
    CHECK(http::structured::appendString(written, group));
  }
  http::Fields again;
  again.add("Cache-Groups", written);
  CHECK(policy::groupsOf(again) == groups);
  return 0;
}
