// The cache policy of a route.
#include <algorithm>
#include <array>
#include <utility>

#include "source/config/load/compile_parts.h"
#include "source/http/grammar.h"

namespace config {
namespace {

using TextList = google::protobuf::RepeatedPtrField<std::string>;

// Names of query parameters, sorted, each once.
std::vector<std::string> compileNames(const Place& place, const TextList& from, bool wildcards) {
  std::vector<std::string> names;
  const int count = countWithin(place, from.size(), kMaxQueryNames);
  for (int i = 0; i < count; i++) {
    const std::string& name = from[i];
    const size_t star = name.find('*');
    const bool star_last = star == std::string::npos || (wildcards && star + 1 == name.size());
    if (name.empty() || name == "*" || name.find_first_of("&=#?") != std::string::npos) {
      place[i].error("`" + name + "` cannot be a parameter's name");
    } else if (!star_last) {
      place[i].error(wildcards ? "a `*` can only be the last character"
                               : "a `*` has no meaning here");
    } else {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// Tokens, each once, in the order given. kind: "a header" and the like; lower: letter case does not
// count.
enum class Letters : uint8_t { count, ignored };
std::vector<std::string> compileTokens(const Place& place, const TextList& from, int most,
                                       std::string_view kind, Letters letters) {
  std::vector<std::string> tokens;
  const int count = countWithin(place, from.size(), most);
  for (int i = 0; i < count; i++) {
    const std::string text = letters == Letters::ignored ? lowerCase(from[i]) : from[i];
    if (!http::isToken(text) || text == "*") {
      place[i].error("`" + from[i] + "` cannot be " + std::string(kind));
    } else if (std::find(tokens.begin(), tokens.end(), text) != tokens.end()) {
      place[i].error("is given twice");
    } else {
      tokens.push_back(text);
    }
  }
  return tokens;
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

policy::KeySpec compileKey(const Place& place, const pb::CacheKey& from) {
  policy::KeySpec key;
  key.exclude_host = from.exclude_host();
  key.exclude_scheme = from.exclude_scheme();
  key.sort_query = from.sort_query();
  const bool both =
      from.query_parameters_included_size() != 0 && from.query_parameters_excluded_size() != 0;
  if (both) {
    place["query_parameters_excluded"].error("cannot stand beside `query_parameters_included`");
  }
  key.query_parameters_included =
      compileNames(place["query_parameters_included"], from.query_parameters_included(), false);
  key.query_parameters_excluded =
      compileNames(place["query_parameters_excluded"], from.query_parameters_excluded(), true);
  key.normalise_path = from.normalize_path();
  key.no_vary_search = from.no_vary_search();
  key.headers = sorted(compileTokens(place["headers"], from.headers(), kMaxKeyParts,
                                     "a header's name", Letters::ignored));
  key.cookies = sorted(compileTokens(place["cookies"], from.cookies(), kMaxKeyParts,
                                     "a cookie's name", Letters::count));
  return key;
}

std::vector<policy::StatusTtl> compileStatusTtls(const Place& place, const pb::CachePolicy& from) {
  std::vector<policy::StatusTtl> ttls;
  const int count = countWithin(place, from.status_ttls_size(), kMaxStatusTtls);
  for (int i = 0; i < count; i++) {
    const pb::StatusTtl& entry = from.status_ttls(i);
    const uint32_t status = entry.status();
    if (status == 0) {
      place[i]["status"].missing();
      continue;
    }
    if ((status < 200 || status > 599) && (status < 2 || status > 5)) {
      place[i]["status"].error("must be a status from 200 to 599, or a class from 2 to 5");
      continue;
    }
    if (!entry.has_ttl()) {
      place[i]["ttl"].missing();
      continue;
    }
    const auto same = [status](const policy::StatusTtl& other) { return other.status == status; };
    if (std::any_of(ttls.begin(), ttls.end(), same)) {
      place[i]["status"].error("is given twice");
      continue;
    }
    ttls.push_back({static_cast<uint16_t>(status),
                    durationSeconds(place[i]["ttl"], &entry.ttl()).value_or(0)});
  }
  std::sort(ttls.begin(), ttls.end(),
            [](const auto& a, const auto& b) { return a.status < b.status; });
  return ttls;
}

void compileTimes(const Place& place, const pb::CachePolicy& from, policy::RoutePolicy& out) {
  out.default_ttl_s =
      durationSeconds(place["default_ttl"], from.has_default_ttl() ? &from.default_ttl() : nullptr);
  out.min_ttl_s =
      durationSeconds(place["min_ttl"], from.has_min_ttl() ? &from.min_ttl() : nullptr).value_or(0);
  out.max_ttl_s = durationSeconds(place["max_ttl"], from.has_max_ttl() ? &from.max_ttl() : nullptr);
  if (out.max_ttl_s.has_value() && *out.max_ttl_s < out.min_ttl_s) {
    place["max_ttl"].error("must not be below min_ttl, which is " + std::to_string(out.min_ttl_s) +
                           "s");
  }
  out.stale_while_revalidate_s =
      durationSeconds(place["stale_while_revalidate"],
                      from.has_stale_while_revalidate() ? &from.stale_while_revalidate() : nullptr);
  out.stale_if_error_s = durationSeconds(
      place["stale_if_error"], from.has_stale_if_error() ? &from.stale_if_error() : nullptr);
  const Place heuristic = place["heuristic"];
  constexpr uint64_t kWhole_percent = 100;
  if (from.heuristic().has_fraction_percent()) {
    out.heuristic.fraction_percent = static_cast<uint32_t>(
        numberIn(heuristic["fraction_percent"], from.heuristic().fraction_percent(),
                 out.heuristic.fraction_percent, {0, kWhole_percent}));
  }
  out.heuristic.max_s =
      durationSeconds(heuristic["max"],
                      from.heuristic().has_max() ? &from.heuristic().max() : nullptr)
          .value_or(out.heuristic.max_s);
}

policy::SetCookie setCookieOf(pb::CachePolicy::SetCookie set_cookie) {
  switch (set_cookie) {
    case pb::CachePolicy::STRIP:
      return policy::SetCookie::strip;
    case pb::CachePolicy::REFUSE:
      return policy::SetCookie::refuse;
    default:
      return policy::SetCookie::store_if_explicit;
  }
}

policy::StaleOn compileStaleOn(const Place& place, const pb::StaleOn& from) {
  policy::StaleOn on;
  on.connect_failure_s = durationSeconds(
      place["connect_failure"], from.has_connect_failure() ? &from.connect_failure() : nullptr);
  on.timeout_s = durationSeconds(place["timeout"], from.has_timeout() ? &from.timeout() : nullptr);
  on.server_error_s = durationSeconds(place["server_error"],
                                      from.has_server_error() ? &from.server_error() : nullptr);
  return on;
}

uint32_t compileIgnored(const pb::IgnoredDirectives& from) {
  uint32_t bits = 0;
  const auto add = [&bits](bool yes, policy::Ignored what) {
    bits |= yes ? static_cast<uint32_t>(what) : 0;
  };
  add(from.no_store(), policy::Ignored::no_store);
  add(from.no_cache(), policy::Ignored::no_cache);
  add(from.private_(), policy::Ignored::private_response);
  add(from.must_revalidate(), policy::Ignored::must_revalidate);
  add(from.max_age(), policy::Ignored::max_age);
  add(from.s_maxage(), policy::Ignored::s_maxage);
  add(from.expires(), policy::Ignored::expires);
  add(from.stale_while_revalidate(), policy::Ignored::stale_while_revalidate);
  add(from.stale_if_error(), policy::Ignored::stale_if_error);
  return bits;
}

policy::RequestCookies requestCookiesOf(pb::CachePolicy::RequestCookies cookies) {
  switch (cookies) {
    case pb::CachePolicy::STRIP_COOKIES:
      return policy::RequestCookies::strip;
    case pb::CachePolicy::BYPASS:
      return policy::RequestCookies::bypass;
    default:
      return policy::RequestCookies::forward;
  }
}

void compileRules(const Place& place, const pb::CachePolicy& from, Route& out) {
  const int bypass = countWithin(place["bypass"], from.bypass_size(), kMaxRules);
  for (int i = 0; i < bypass; i++) {
    out.bypass_rules.push_back(
        compileRule(place["bypass"][i], from.bypass(i), RuleAbout::requests));
  }
  const int no_store = countWithin(place["no_store"], from.no_store_size(), kMaxRules);
  for (int i = 0; i < no_store; i++) {
    out.no_store_rules.push_back(
        compileRule(place["no_store"][i], from.no_store(i), RuleAbout::responses));
  }
}

// What has to do with neither key nor time.
void compileGuards(const Place& place, const pb::CachePolicy& from, policy::RoutePolicy& out) {
  constexpr uint64_t kMostUses = 15;
  constexpr uint64_t kWhole_percent = 100;
  out.set_cookie = setCookieOf(from.set_cookie());
  out.request_cookies = requestCookiesOf(from.request_cookies());
  if (!out.key.cookies.empty() && out.request_cookies == policy::RequestCookies::bypass) {
    place["request_cookies"].error("with BYPASS no cookie of key.cookies is ever looked at");
  }
  out.targeted = compileTokens(place["targeted_cache_control"], from.targeted_cache_control(),
                               kMaxTargetedFields, "a field's name", Letters::ignored);
  out.stale_on = compileStaleOn(place["stale_on"], from.stale_on());
  out.ignored_directives = compileIgnored(from.ignore_directives());
  out.ttl_jitter_percent = static_cast<uint32_t>(
      numberIn(place["ttl_jitter_percent"], from.ttl_jitter_percent(), 0, {0, kWhole_percent}));
  if (from.has_min_uses()) {
    out.min_uses =
        static_cast<uint32_t>(numberIn(place["min_uses"], from.min_uses(), 1, {1, kMostUses}));
  }
  out.check_content_type = from.check_content_type();
  out.accept_encodings = compileTokens(place["accept_encodings"], from.accept_encodings(),
                                       kMaxEncodings, "a content coding", Letters::ignored);
  out.accept_languages = compileTokens(place["accept_languages"], from.accept_languages(),
                                       kMaxLanguages, "a language tag", Letters::ignored);
}

constexpr std::array<std::string_view, 11> kCompressible = {"text/",
                                                            "application/javascript",
                                                            "application/json",
                                                            "application/ld+json",
                                                            "application/manifest+json",
                                                            "application/rss+xml",
                                                            "application/atom+xml",
                                                            "application/wasm",
                                                            "application/xml",
                                                            "application/xhtml+xml",
                                                            "image/svg+xml"};

// "text/*" becomes "text/". Empty: it is no media type.
std::string mediaTypeOf(std::string_view text) {
  std::string type = lowerCase(text);
  const size_t slash = type.find('/');
  if (slash == std::string::npos || !http::isToken(type.substr(0, slash)) ||
      !http::isToken(type.substr(slash + 1)) || type[0] == '*') {
    return {};
  }
  if (type.ends_with("/*")) {
    type.pop_back();
  }
  return type.find('*') == std::string::npos ? type : std::string();
}

std::optional<policy::Coding> codingOf(int algorithm) {
  switch (algorithm) {
    case pb::Compression::GZIP:
      return policy::Coding::gzip;
    case pb::Compression::BR:
      return policy::Coding::br;
    case pb::Compression::ZSTD:
      return policy::Coding::zstd;
    default:
      return std::nullopt;
  }
}

// The codings become those that requests are reduced to, or must be among them.
void compileAlgorithms(const Place& place, const pb::Compression& from, policy::Compression& out,
                       std::vector<std::string>& accepted) {
  const Place list = place["algorithms"];
  const bool given = !accepted.empty();
  if (from.algorithms_size() == 0) {
    list.missing();
  }
  const int count = countWithin(list, from.algorithms_size(), kMaxEncodings);
  for (int i = 0; i < count; i++) {
    const std::optional<policy::Coding> coding = codingOf(from.algorithms(i));
    if (!coding.has_value()) {
      list[i].error("must be GZIP, BR or ZSTD");
      continue;
    }
    if (std::find(out.algorithms.begin(), out.algorithms.end(), *coding) != out.algorithms.end()) {
      list[i].error("is given twice");
      continue;
    }
    out.algorithms.push_back(*coding);
    const std::string name(policy::name(*coding));
    if (!given) {
      accepted.push_back(name);
    } else if (std::find(accepted.begin(), accepted.end(), name) == accepted.end()) {
      list[i].error("is not in accept_encodings, so no request would ask for it");
    }
  }
}

policy::Compression compileCompression(const Place& place, const pb::Compression& from,
                                       std::vector<std::string>& accepted) {
  constexpr uint64_t kMostLevel = 9;
  policy::Compression out;
  compileAlgorithms(place, from, out, accepted);
  if (from.has_min_length()) {
    out.min_length = from.min_length();
  }
  if (from.has_level()) {
    out.level = static_cast<uint32_t>(numberIn(place["level"], from.level(), 1, {1, kMostLevel}));
  }
  const Place types = place["content_types"];
  const int count = countWithin(types, from.content_types_size(), kMaxContentTypes);
  for (int i = 0; i < count; i++) {
    std::string type = mediaTypeOf(from.content_types(i));
    if (type.empty()) {
      types[i].error("`" + from.content_types(i) +
                     "` is no media type like `text/html` or `text/*`");
    } else {
      out.content_types.push_back(std::move(type));
    }
  }
  if (from.content_types_size() == 0) {
    out.content_types.assign(kCompressible.begin(), kCompressible.end());
  }
  return out;
}

void compileSlice(const Place& place, const pb::CachePolicy& from, const References& references,
                  Route& out) {
  constexpr uint64_t kLeast = 64 << 10;
  constexpr uint64_t kMost = 16 << 20;
  if (!from.has_slice()) {
    return;
  }
  uint64_t& bytes = out.policy.slice_block_bytes;
  bytes = policy::kSliceBlock_bytes;
  if (from.slice().has_block_bytes()) {
    bytes = numberIn(place["block_bytes"], from.slice().block_bytes(), bytes, {kLeast, kMost});
  }
  if (out.cache != kNone && bytes > (*references.cache_list)[out.cache].max_object_bytes) {
    place["block_bytes"].error(
        "is more than max_object_bytes of the cache, so that no block would be stored");
  }
}

}  // namespace

void compilePolicy(const Place& place, const pb::CachePolicy& from, References& references,
                   Route& out) {
  constexpr uint64_t kMaxCollapse_ms = 600000;
  policy::RoutePolicy& policy = out.policy;
  policy.enabled = true;
  out.cache =
      references.caches.resolve(place["store"], from.store(), "cache", "static_resources.caches");
  policy.key = compileKey(place["key"], from.key());
  policy.status_ttls = compileStatusTtls(place["status_ttls"], from);
  compileTimes(place, from, policy);
  if (from.has_honor_request_cache_control()) {
    policy.honor_request_cache_control = from.honor_request_cache_control();
  }
  if (from.has_max_object_bytes()) {
    const uint64_t most =
        out.cache == kNone ? UINT64_MAX : (*references.cache_list)[out.cache].max_object_bytes;
    policy.max_object_bytes =
        numberIn(place["max_object_bytes"], from.max_object_bytes(), most, {0, most});
  }
  compileGuards(place, from, policy);
  if (from.has_compression()) {
    policy.compression =
        compileCompression(place["compression"], from.compression(), policy.accept_encodings);
  }
  compileSlice(place["slice"], from, references, out);
  compileRules(place, from, out);
  policy.collapse_timeout_ms = durationMs(
      place["collapse_timeout"], from.has_collapse_timeout() ? &from.collapse_timeout() : nullptr,
      {.otherwise_ms = policy.collapse_timeout_ms, .high_ms = kMaxCollapse_ms});
}

}  // namespace config
