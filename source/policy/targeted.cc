#include "source/policy/targeted.h"

#include <algorithm>
#include <optional>
#include <string>

#include "source/http/grammar.h"
#include "source/http/list.h"
#include "source/http/structured.h"
#include "source/policy/times.h"

namespace policy {
namespace {

using http::structured::BareItem;
using http::structured::Dictionary;
using http::structured::DictionaryMember;

// All lines of a name as one list (RFC 9110 5.3); a view of the line when there is one.
std::string_view joined(const http::Fields& fields, std::string_view name, std::string& buffer) {
  std::string_view first;
  size_t lines = 0;
  for (const http::Field& field : fields.all()) {
    if (!http::equalsIgnoreCase(field.name, name)) {
      continue;
    }
    if (++lines == 1) {
      first = field.value;
      continue;
    }
    if (lines == 2) {
      buffer = first;
    }
    buffer.append(", ").append(field.value);
  }
  return lines > 1 ? std::string_view(buffer) : first;
}

const BareItem* itemOf(const DictionaryMember& member) {
  const auto* item = std::get_if<http::structured::Item>(&member.value);
  return item == nullptr ? nullptr : &item->value;
}

// delta-seconds is an Integer; any other type, or a negative one, is 0: stale.
uint32_t secondsOf(const DictionaryMember& member) {
  const BareItem* value = itemOf(member);
  const int64_t* seconds = value == nullptr ? nullptr : std::get_if<int64_t>(value);
  if (seconds == nullptr || *seconds < 0) {
    return 0;
  }
  return static_cast<uint32_t>(std::min<int64_t>(*seconds, kMaxDelta_s));
}

// A directive that restricts holds unless it is false; names in its value are not told apart.
bool restricts(const DictionaryMember& member) {
  const BareItem* value = itemOf(member);
  const bool* flag = value == nullptr ? nullptr : std::get_if<bool>(value);
  return flag == nullptr || *flag;
}

// One that permits holds only as true.
bool permits(const DictionaryMember& member) {
  const BareItem* value = itemOf(member);
  const bool* flag = value == nullptr ? nullptr : std::get_if<bool>(value);
  return flag != nullptr && *flag;
}

bool takeSeconds(const DictionaryMember& member, ResponseDirectives& out) {
  if (member.key == "max-age") {
    out.max_age = secondsOf(member);
  } else if (member.key == "s-maxage") {
    out.s_maxage = secondsOf(member);
  } else if (member.key == "stale-while-revalidate") {
    out.stale_while_revalidate = secondsOf(member);
  } else if (member.key == "stale-if-error") {
    out.stale_if_error = secondsOf(member);
  } else {
    return false;
  }
  return true;
}

void takeFlag(const DictionaryMember& member, ResponseDirectives& out) {
  if (member.key == "no-store") {
    out.no_store = restricts(member);
  } else if (member.key == "no-cache") {
    out.no_cache = restricts(member);
  } else if (member.key == "private") {
    out.private_response = restricts(member);
  } else if (member.key == "must-revalidate") {
    out.must_revalidate = restricts(member);
  } else if (member.key == "proxy-revalidate") {
    out.proxy_revalidate = restricts(member);
  } else if (member.key == "no-transform") {
    out.no_transform = restricts(member);
  } else if (member.key == "public") {
    out.public_response = permits(member);
  } else if (member.key == "must-understand") {
    out.must_understand = permits(member);
  } else if (member.key == "immutable") {
    out.immutable = permits(member);
  }
}

// "max-age=60+30": fresh for 60 s, usable stale for 30 s more (Edge Architecture 2.2).
void takeSurrogateAge(std::string_view value, ResponseDirectives& out) {
  const size_t plus = std::min(value.find('+'), value.size());
  const std::optional<uint32_t> fresh = parseDelta(value.substr(0, plus));
  out.max_age = fresh.value_or(0);
  if (fresh.has_value() && plus < value.size()) {
    out.stale_while_revalidate = parseDelta(value.substr(plus + 1)).value_or(0);
    out.stale_if_error = out.stale_while_revalidate;
  }
}

void dropIgnored(const RoutePolicy& route, Governing& out) {
  ResponseDirectives& said = out.said;
  said.no_store &= !route.ignores(Ignored::no_store);
  if (route.ignores(Ignored::no_cache)) {
    said.no_cache = false;
  }
  said.private_response &= !route.ignores(Ignored::private_response);
  if (route.ignores(Ignored::must_revalidate)) {
    said.must_revalidate = said.proxy_revalidate = false;
  }
  if (route.ignores(Ignored::max_age)) {
    said.max_age.reset();
  }
  if (route.ignores(Ignored::s_maxage)) {
    said.s_maxage.reset();
  }
  if (route.ignores(Ignored::stale_while_revalidate)) {
    said.stale_while_revalidate.reset();
  }
  if (route.ignores(Ignored::stale_if_error)) {
    said.stale_if_error.reset();
  }
  out.expires &= !route.ignores(Ignored::expires);
}

}  // namespace

bool parseTargeted(const http::Fields& response, std::string_view name, ResponseDirectives& out) {
  std::string buffer;
  const std::string_view text = joined(response, name, buffer);
  if (text.empty()) {
    return false;
  }
  const std::optional<Dictionary> dictionary = http::structured::parseDictionary(text);
  if (!dictionary.has_value() || dictionary->empty()) {
    return false;  // RFC 9213 2.1
  }
  for (const DictionaryMember& member : *dictionary) {
    if (!takeSeconds(member, out)) {
      takeFlag(member, out);
    }
  }
  return true;
}

bool parseSurrogateControl(const http::Fields& response, ResponseDirectives& out) {
  http::FieldList members(response, http::Name::surrogate_control);
  ResponseDirectives for_all;
  ResponseDirectives for_us;
  bool any = false;
  bool ours = false;
  while (const std::optional<std::string_view> member = members.next()) {
    http::ParameterReader parameters(*member);
    const std::string_view element = parameters.head();
    const std::optional<http::Directive> target = parameters.next();
    const bool addressed = target.has_value();
    if (addressed && !http::equalsIgnoreCase(target->name, kSurrogateName)) {
      continue;  // another surrogate's
    }
    const size_t equals = std::min(element.find('='), element.size());
    const std::string_view name = http::trimOws(element.substr(0, equals));
    if (!http::isToken(name)) {
      return false;
    }
    ResponseDirectives& into = addressed ? for_us : for_all;
    any = true;
    ours |= addressed;
    if (http::equalsIgnoreCase(name, "no-store")) {
      into.no_store = true;
    } else if (http::equalsIgnoreCase(name, "max-age")) {
      takeSurrogateAge(element.substr(std::min(equals + 1, element.size())), into);
    }
  }
  if (!any || members.malformed()) {
    return false;
  }
  out = ours ? for_us : for_all;
  return true;
}

bool consumesSurrogateControl(const RoutePolicy& route) {
  return std::find(route.targeted.begin(), route.targeted.end(), kSurrogateControl) !=
         route.targeted.end();
}

std::vector<std::string> strippedFromAll(const RoutePolicy& route) {
  std::vector<std::string> names;
  if (consumesSurrogateControl(route)) {
    names.emplace_back(kSurrogateControl);
  }
  return names;
}

Governing governing(const http::Fields& response, const RoutePolicy& route) {
  Governing out;
  for (const std::string& name : route.targeted) {
    ResponseDirectives said;
    const bool usable = name == kSurrogateControl ? parseSurrogateControl(response, said)
                                                  : parseTargeted(response, name, said);
    if (usable) {
      out.said = said;
      out.expires = false;
      out.field = name;
      dropIgnored(route, out);
      return out;
    }
  }
  out.said = parseResponseDirectives(response);
  dropIgnored(route, out);
  return out;
}

}  // namespace policy
