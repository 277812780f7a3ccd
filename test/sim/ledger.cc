#include "test/sim/ledger.h"

#include <algorithm>
#include <charconv>

namespace sim {
namespace {

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

uint32_t toNumber(std::string_view text) {
  uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Ledger::Ledger(base::Random& random, uint32_t resources, uint64_t slack_ns) : slack_ns_(slack_ns) {
  static constexpr uint32_t kAges_s[] = {1, 3, 20, 300};
  for (uint32_t id = 0; id < resources; id++) {
    Resource r;
    r.id = id;
    r.max_age_s = kAges_s[random.below(4)];
    r.store = !random.chance(1, 8);
    r.validator = random.chance(1, 2);
    r.varies = random.chance(1, 5);
    if (random.chance(1, 3)) {
      r.stale_s = static_cast<uint32_t>(random.between(1, 30));
      r.while_revalidate = random.chance(1, 2);
    }
    r.framing = static_cast<Framing>(random.below(3));
    static constexpr uint64_t kLengths[] = {0, 300, 5'000, 50'000, 300'000, 900'000};
    r.length_max = kLengths[random.below(6)];
    resources_.push_back(r);
    versions_.push_back(1);
  }
}

uint64_t Ledger::lengthOf(uint32_t id, uint32_t version) const {
  const uint64_t most = resources_[id].length_max;
  return most == 0 ? 0 : most / 2 + mix(id * 1000003ULL + version) % (most / 2 + 1);
}

std::string Ledger::body(uint32_t id, uint32_t variant, uint32_t version, uint64_t first,
                         uint64_t count) const {
  const uint64_t seed = mix((uint64_t{id} << 40) ^ (uint64_t{variant} << 32) ^ version);
  std::string text(count, '\0');
  uint64_t word = 0;
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t at = first + i;
    if (i == 0 || at % 8 == 0) {
      word = mix(seed + at / 8);
    }
    text[i] = static_cast<char>(word >> (at % 8 * 8));
  }
  return text;
}

std::string Ledger::tag(uint32_t variant, uint32_t version) {
  return "\"" + std::to_string(version) + "-" + std::to_string(variant) + "\"";
}

std::string Ledger::headFields(uint32_t id, uint32_t variant, uint32_t version) const {
  const Resource& r = resources_[id];
  std::string text = "X-Version: " + std::to_string(version) + "\r\n";
  text += "X-Variant: " + std::to_string(variant) + "\r\n";
  if (!r.store) {
    text += id % 2 == 0 ? "Cache-Control: no-store\r\n" : "Cache-Control: private\r\n";
  } else {
    text += "Cache-Control: max-age=" + std::to_string(r.max_age_s);
    if (r.stale_s > 0) {
      text += r.while_revalidate ? ", stale-while-revalidate=" : ", stale-if-error=";
      text += std::to_string(r.stale_s);
    }
    text += "\r\n";
  }
  if (r.validator) {
    text += "ETag: " + tag(variant, version) + "\r\n";
  }
  return r.varies ? text + "Vary: Accept-Language\r\n" : text;
}

void Ledger::sent(uint32_t id, uint32_t variant, uint32_t version, uint64_t now_ns) {
  last_sent_ns_[{id, variant, version}] = now_ns;
}

void Ledger::sliced(uint32_t id, uint32_t variant, uint32_t version, uint64_t now_ns) {
  last_sliced_ns_[{id, variant, version}] = now_ns;
}

void Ledger::setFloor(uint32_t id, uint32_t version, uint64_t now_ns, bool durable) {
  floors_[id].push_back(Floor{version, now_ns, durable});
}

void Ledger::forget() {
  for (auto& [id, floors] : floors_) {
    std::erase_if(floors, [](const Floor& floor) { return !floor.durable; });
  }
}

std::string Ledger::judge(const Asked& asked, const Message& got, uint64_t now_ns) const {
  const uint32_t status = got.status();
  if (!got.has("x-version")) {
    return status >= 400 ? std::string() : "a response of nobody: status " + std::to_string(status);
  }
  const Resource& r = resources_[asked.resource];
  const uint32_t version = toNumber(got.field("x-version"));
  const uint32_t variant = toNumber(got.field("x-variant"));
  const std::string what = "resource " + std::to_string(asked.resource) + " version " +
                           std::to_string(version) + " asked at " +
                           std::to_string(asked.begun_ns / 1000) + " us, answered at " +
                           std::to_string(now_ns / 1000) + " us: ";
  if (version == 0 || version > versions_[asked.resource]) {
    return what + "a version that never was";
  }
  if (variant != (r.varies ? asked.variant : 0)) {
    return what + "another variant";
  }
  if (status == 304 && !asked.conditional) {
    return what + "304 without a condition";
  }
  if (status == 206 && asked.range.empty()) {
    return what + "206 without a range";
  }
  // First bytes that were kept, and now completed: the origin has said that they are current.
  const bool completed = got.field("cache-status").find("fwd-status=206") != std::string::npos;
  const std::string age = judgeAge(asked, version, completed);
  const std::string body = got.complete ? judgeBody(asked, got, version) : std::string();
  return age.empty() && body.empty() ? std::string() : what + age + body;
}

std::string Ledger::judgeBody(const Asked& asked, const Message& got, uint32_t version) const {
  const uint32_t status = got.status();
  if (asked.method == "HEAD" || status == 304 || status == 416) {
    return got.body.empty() || status == 416 ? std::string() : "a body where none belongs; ";
  }
  const Resource& r = resources_[asked.resource];
  const uint64_t length = lengthOf(asked.resource, version);
  uint64_t first = 0;
  uint64_t count = length;
  if (status == 206) {
    first = asked.range_first;
    count = std::min(asked.range_last + 1, length) - first;
    const std::string expected = "bytes " + std::to_string(first) + "-" +
                                 std::to_string(first + count - 1) + "/" + std::to_string(length);
    const std::string unknown =
        "bytes " + std::to_string(first) + "-" + std::to_string(first + count - 1) + "/*";
    if (got.field("content-range") != expected && got.field("content-range") != unknown) {
      return "Content-Range is " + got.field("content-range") + ", not " + expected + "; ";
    }
  } else if (status != 200) {
    return "status " + std::to_string(status) + "; ";
  }
  const uint32_t variant = r.varies ? asked.variant : 0;
  if (got.body.size() != count) {
    return std::to_string(got.body.size()) + " bytes instead of " + std::to_string(count) + "; ";
  }
  const std::string expected = body(asked.resource, variant, version, first, count);
  if (got.body != expected) {
    const auto at = std::mismatch(expected.begin(), expected.end(), got.body.begin()).first;
    return "wrong byte at " + std::to_string(at - expected.begin()) + "; ";
  }
  return {};
}

// What RFC 9111 allows, from the outside: an answer may be used for its lifetime from when it was
// made, and for its extension. `slack` covers whole seconds and what the network holds.
std::string Ledger::judgeAge(const Asked& asked, uint32_t version, bool completed) const {
  const Resource& r = resources_[asked.resource];
  const auto floors = floors_.find(asked.resource);
  if (floors != floors_.end()) {
    for (const Floor& floor : floors->second) {
      if (asked.begun_ns >= floor.since_ns && version < floor.version) {
        return "older than what a purge or an unsafe request ended (" +
               std::to_string(floor.version) + "); ";
      }
    }
  }
  const auto sent = last_sent_ns_.find({asked.resource, r.varies ? asked.variant : 0, version});
  if (sent == last_sent_ns_.end()) {
    return "the origin never sent this; ";
  }
  const uint64_t usable_s = r.store ? uint64_t{r.max_age_s} + r.stale_s : 0;
  uint64_t sent_ns = sent->second;
  const auto sliced = last_sliced_ns_.find(sent->first);
  if (completed && sliced != last_sliced_ns_.end()) {
    sent_ns = std::max(sent_ns, sliced->second);
  }
  const uint64_t until_ns = sent_ns + usable_s * base::kSecond_ns + slack_ns_;
  if (!asked.any_age && asked.begun_ns > until_ns) {
    return "stale by " + std::to_string((asked.begun_ns - until_ns) / base::kMillisecond_ns) +
           " ms more than allowed; ";
  }
  return {};
}

}  // namespace sim
