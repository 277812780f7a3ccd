#include "test/sim/freshness.h"

#include <algorithm>
#include <charconv>
#include <ctime>

namespace sim {
namespace {

uint64_t toNumber(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string dateOf(uint64_t wall_s) {
  const auto time = static_cast<time_t>(wall_s);
  tm parts{};
  gmtime_r(&time, &parts);
  char text[40];
  const size_t length = strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return std::string(text, length);
}

uint32_t small(base::Random& random) {
  static constexpr uint32_t kSeconds[] = {0, 1, 2, 5, 10, 30};
  return kSeconds[random.below(6)];
}

}  // namespace

Terms Terms::draw(base::Random& random, bool expires) {
  Terms terms;
  if (random.chance(3, 4)) {
    terms.max_age_s = small(random);
  }
  if (random.chance(1, 5)) {
    terms.s_maxage_s = small(random);
  }
  if (expires) {
    terms.expires_s = small(random);
  }
  terms.no_cache = random.chance(1, 10);
  terms.no_store = random.chance(1, 10);
  terms.is_private = random.chance(1, 8);
  terms.is_public = random.chance(1, 8);
  terms.must_revalidate = random.chance(1, 8);
  terms.while_revalidate_s = random.chance(1, 4) ? small(random) : 0;
  terms.if_error_s = random.chance(1, 4) ? small(random) : 0;
  terms.age_s = random.chance(1, 6) ? static_cast<uint32_t>(random.below(6)) : 0;
  return terms;
}

std::string Terms::fields(uint64_t wall_s) const {
  std::string list;
  const auto add = [&list](bool there, const std::string& directive) {
    if (there) {
      list += (list.empty() ? "" : ", ") + directive;
    }
  };
  add(max_age_s.has_value(), "max-age=" + std::to_string(max_age_s.value_or(0)));
  add(s_maxage_s.has_value(), "s-maxage=" + std::to_string(s_maxage_s.value_or(0)));
  add(no_cache, "no-cache");
  add(no_store, "no-store");
  add(is_private, "private");
  add(is_public, "public");
  add(must_revalidate, "must-revalidate");
  add(while_revalidate_s > 0, "stale-while-revalidate=" + std::to_string(while_revalidate_s));
  add(if_error_s > 0, "stale-if-error=" + std::to_string(if_error_s));
  add(list.empty(), "nothing");
  std::string text = "Date: " + dateOf(wall_s) + "\r\nCache-Control: " + list + "\r\n";
  if (expires_s.has_value()) {
    text += "Expires: " + dateOf(wall_s + *expires_s) + "\r\n";
  }
  return age_s == 0 ? text : text + "Age: " + std::to_string(age_s) + "\r\n";
}

// RFC 9111 4.2.1, for a shared cache. Nothing here has a Last-Modified to guess from.
uint32_t Terms::lifetime_s() const {
  return s_maxage_s.value_or(max_age_s.value_or(expires_s.value_or(0)));
}

FreshnessOracle::FreshnessOracle(base::Random& random, uint32_t sites)
    : versions_(sites, 1), with_origin_(sites) {
  static constexpr uint64_t kLengths[] = {0, 400, 5'000, 70'000, 400'000};
  for (uint32_t id = 0; id < sites; id++) {
    Site site;
    site.collapsible = random.chance(1, 3);
    site.varies = !site.collapsible && random.chance(1, 4);
    site.validator = random.chance(1, 2);
    site.expires = !site.collapsible && random.chance(1, 4);
    site.framing = static_cast<uint32_t>(random.below(3));
    site.length = kLengths[random.below(5)];
    if (site.collapsible) {
      site.terms.max_age_s = static_cast<uint32_t>(random.between(10, 30));
    }
    sites_.push_back(site);
  }
}

std::string FreshnessOracle::tag(uint32_t variant, uint32_t version) {
  return "\"" + std::to_string(version) + "." + std::to_string(variant) + "\"";
}

std::string FreshnessOracle::body(uint32_t site, uint32_t variant, uint32_t version) const {
  const std::string word =
      std::to_string(site) + "/" + std::to_string(variant) + "/" + std::to_string(version) + ";";
  const uint64_t length = sites_[site].length == 0 ? 0 : sites_[site].length + version % 7;
  std::string text;
  text.reserve(length + 40);
  while (text.size() < length) {
    text += word + std::to_string(text.size()) + " ";
  }
  text.resize(length);
  return text;
}

std::string FreshnessOracle::begins(uint32_t site, const std::string& request,
                                    const std::string& part) {
  std::vector<Pending>& with_origin = with_origin_[site];
  const auto same = std::ranges::find(with_origin, part, &Pending::part);
  const std::string wrong = sites_[site].collapsible && same != with_origin.end()
                                ? "at once: " + same->request + ", and " + request
                                : std::string();
  with_origin.push_back(Pending{request, part});
  return wrong;
}

void FreshnessOracle::ends(uint32_t site, const std::string& request) {
  std::vector<Pending>& with_origin = with_origin_[site];
  with_origin.erase(std::ranges::find(with_origin, request, &Pending::request));
}

uint64_t FreshnessOracle::give(const Given& given) {
  given_.push_back(given);
  return given_.size();
}

bool FreshnessOracle::failedWithin(uint32_t site, uint64_t from_ns, uint64_t to_ns) const {
  const auto found = failures_.find(site);
  return always_failing_ || (found != failures_.end() &&
                             std::ranges::any_of(found->second, [from_ns, to_ns](uint64_t at) {
                               return at + kFailureReach_ns >= from_ns && at <= to_ns;
                             }));
}

std::string FreshnessOracle::judge(const Wish& wish, const Message& got, uint64_t now_ns) {
  if (!got.has("x-serial")) {
    return got.status() >= 400 ? std::string() : "a response of nobody: " + got.first;
  }
  const uint64_t serial = toNumber(got.field("x-serial"));
  if (serial == 0 || serial > given_.size()) {
    return "a response that never was";
  }
  Given& given = given_[serial - 1];
  if (given.site != wish.site) {
    return "another resource's";
  }
  if (sites_[wish.site].varies && given.variant != wish.variant) {
    return "another variant";
  }
  std::string wrong = judgeSharing(wish, given);
  wrong += judgeAge(wish, given, now_ns);
  if (got.complete) {
    wrong += judgeBody(wish, got, given);
  }
  return wrong;
}

// RFC 9111 3, 3.5, 5.2.2.5, 5.2.2.7.
std::string FreshnessOracle::judgeSharing(const Wish& wish, Given& given) {
  given.delivered++;
  const Terms& t = given.terms;
  const bool may_share = t.is_public || t.must_revalidate || t.s_maxage_s.has_value();
  if (!t.is_private && !t.no_store && (!given.authorized || may_share)) {
    return {};
  }
  alone_++;
  if (given.visit != wish.visit) {
    return "an answer to visit " + std::to_string(given.visit) + " that is for it alone; ";
  }
  return given.delivered > 1 ? "an answer for one, given twice; " : std::string();
}

// RFC 9111 4.2, 5.2.1, 5.2.2; RFC 5861. An answer that the proxy got after the request was made
// is as new as can be.
std::string FreshnessOracle::judgeAge(const Wish& wish, const Given& given, uint64_t now_ns) {
  if (given.given_ns + transit_ns_ >= wish.begun_ns) {
    return {};
  }
  reused_++;
  const Terms& t = given.terms;
  const uint64_t age_ns = wish.begun_ns - given.given_ns + t.age_s * base::kSecond_ns;
  const std::string age = " at an age of " + std::to_string(age_ns / base::kMillisecond_ns) +
                          " ms, given at " + std::to_string(given.given_ns / 1000) + " us; ";
  if (t.no_cache) {
    return "a no-cache answer without validation" + age;
  }
  // What a client asks for is what it prefers (RFC 9111 5.2.1): a fresh answer serves where the
  // origin gives none.
  const bool failed = failedWithin(wish.site, wish.begun_ns, now_ns);
  if (wish.no_cache && !failed) {
    return "a stored answer to no-cache" + age;
  }
  const uint64_t lifetime_ns = t.lifetime_s() * base::kSecond_ns;
  uint64_t limit_ns = lifetime_ns;
  // Ages are whole seconds: a client that names one gets what is less than a second older.
  const bool strict = t.must_revalidate || t.s_maxage_s.has_value();
  if (!strict) {
    const bool choosy = wish.max_age_s.has_value() || wish.min_fresh_s.has_value();
    const uint32_t client_s = wish.max_stale_s.has_value() ? *wish.max_stale_s + 1 : 0;
    const uint32_t extension_s = std::max(choosy ? 0 : t.while_revalidate_s, client_s);
    limit_ns += extension_s * base::kSecond_ns;
  }
  if (wish.max_age_s.has_value() && !wish.max_stale_s.has_value()) {
    limit_ns = std::min(limit_ns, (*wish.max_age_s + 1) * base::kSecond_ns);
  }
  if (wish.min_fresh_s.has_value()) {
    const uint64_t wanted_ns = *wish.min_fresh_s * base::kSecond_ns;
    limit_ns =
        std::min(limit_ns, lifetime_ns - std::min(lifetime_ns, wanted_ns) + base::kSecond_ns);
  }
  if (failed) {
    const uint64_t extension_ns = strict ? 0 : t.if_error_s * base::kSecond_ns;
    limit_ns = std::max(limit_ns, lifetime_ns + extension_ns);
  }
  stale_ += age_ns > lifetime_ns ? 1 : 0;
  return age_ns > limit_ns + kSlack_ns
             ? "more than " + std::to_string(limit_ns / base::kMillisecond_ns) + " ms allow" + age
             : std::string();
}

std::string FreshnessOracle::judgeBody(const Wish& wish, const Message& got,
                                       const Given& given) const {
  const uint32_t status = got.status();
  if (status == 304) {
    return wish.conditional ? std::string() : "304 without a condition; ";
  }
  if (wish.method == "HEAD" || status >= 400) {
    return {};
  }
  std::string expected = body(given.site, given.variant, given.version);
  if (status == 206) {
    if (!wish.has_range || wish.range_first >= expected.size()) {
      return "206 without a range; ";
    }
    expected = expected.substr(wish.range_first, wish.range_last - wish.range_first + 1);
  } else if (status != 200) {
    return "status " + std::to_string(status) + "; ";
  }
  if (got.body == expected) {
    return {};
  }
  return got.body.size() < expected.size()
             ? "complete after " + std::to_string(got.body.size()) + " of " +
                   std::to_string(expected.size()) + " bytes; "
             : "another body; ";
}

}  // namespace sim
