#include "source/policy/loop.h"

#include <algorithm>
#include <optional>

#include "source/http/grammar.h"
#include "source/http/list.h"

namespace policy {
namespace {

// received-protocol RWS received-by [ RWS comment ]: the part in the middle.
std::string_view receivedBy(std::string_view member) {
  const size_t space = member.find_first_of(" \t");
  if (space == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = http::trimOws(member.substr(space));
  return rest.substr(0, rest.find_first_of(" \t"));
}

// cdn-id *( OWS ";" OWS parameter )
std::string_view cdnId(std::string_view member) {
  return http::trimOws(member.substr(0, member.find(';')));
}

template <class Part>
uint32_t countOf(const http::Fields& fields, http::Name id, std::string_view name, Part part) {
  uint32_t count = 0;
  http::FieldList members(fields, id);
  while (const std::optional<std::string_view> member = members.next()) {
    count += http::equalsIgnoreCase(part(*member), name) ? 1 : 0;
  }
  return count;
}

}  // namespace

uint32_t timesPassed(const http::Fields& request, std::string_view via, std::string_view cdn_loop) {
  uint32_t times = 0;
  if (!via.empty() && request.has(http::Name::via)) {
    times = countOf(request, http::Name::via, via, receivedBy);
  }
  if (!cdn_loop.empty() && request.has(http::Name::cdn_loop)) {
    times = std::max(times, countOf(request, http::Name::cdn_loop, cdn_loop, cdnId));
  }
  return times;
}

}  // namespace policy
