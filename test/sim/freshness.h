// An oracle of freshness that shares nothing with source/policy: it knows each response that the
// origin gave (by a serial number that the response carries), whose request caused it, and what it
// said about its use. From that alone it says whether a client may have been given it:
//   - a response that is private, or not to be stored, reaches only the client whose request it
//     answers, and once;
//   - one that was given before the request was made is within its lifetime, or within an extension
//     that the response or the client allows, and the origin has failed where only that allows it;
//   - a body is whole and of the version that its head names, or it is not complete;
//   - at most one request for a collapsible resource, or for one range of it, is with the origin at
//   a
//     time.
// The rules are RFC 9111 3, 3.5, 4.2, 5.2 and RFC 5861, in whole seconds of slack at most.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "source/base/random.h"
#include "source/base/types.h"
#include "test/sim/talk.h"

namespace sim {

// What a response says about its use.
struct Terms {
  std::optional<uint32_t> max_age_s;
  std::optional<uint32_t> s_maxage_s;
  std::optional<uint32_t> expires_s;  // after its Date
  bool no_cache = false;
  bool no_store = false;
  bool is_private = false;
  bool is_public = false;
  bool must_revalidate = false;
  uint32_t while_revalidate_s = 0;
  uint32_t if_error_s = 0;
  uint32_t age_s = 0;  // that it has on arrival

  // A 304 replaces the fields that it has, and no others: so an answer always has Cache-Control,
  // and a resource's answers all have Expires, or none has.
  static Terms draw(base::Random& random, bool expires);
  std::string fields(uint64_t wall_s) const;
  uint32_t lifetime_s() const;
};

// A resource of the world.
struct Site {
  bool collapsible = false;  // one answer serves all who ask; the origin never fails it
  bool varies = false;
  bool validator = false;
  bool expires = false;
  uint32_t framing = 0;  // 0: Content-Length, 1: chunked, 2: until the connection closes
  uint64_t length = 0;
  Terms terms;  // of a collapsible one; others draw new ones for each answer
};

// A response as the origin began to give it.
struct Given {
  uint32_t site = 0;
  uint32_t variant = 0;
  uint32_t version = 0;
  uint64_t visit = 0;  // of the request that it answers
  bool authorized = false;
  uint64_t given_ns = 0;
  Terms terms;
  uint64_t delivered = 0;  // how many got it
};

// What a client asked for.
struct Wish {
  uint64_t visit = 0;
  uint32_t site = 0;
  uint32_t variant = 0;
  std::string method = "GET";
  uint64_t range_first = 0;
  uint64_t range_last = 0;
  bool has_range = false;
  bool conditional = false;
  bool authorized = false;
  bool no_cache = false;
  bool only_if_cached = false;
  std::optional<uint32_t> max_age_s;
  std::optional<uint32_t> min_fresh_s;
  std::optional<uint32_t> max_stale_s;
  uint64_t begun_ns = 0;
};

class FreshnessOracle {
 public:
  static constexpr uint64_t kSlack_ns = 250 * base::kMillisecond_ns;
  // A failure of the origin covers answers to those who waited for it.
  static constexpr uint64_t kFailureReach_ns = base::kSecond_ns;

  FreshnessOracle(base::Random& random, uint32_t sites);

  const Site& site(uint32_t id) const { return sites_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(sites_.size()); }
  uint32_t version(uint32_t id) const { return versions_[id]; }
  void bump(uint32_t id) { versions_[id]++; }
  std::string body(uint32_t site, uint32_t variant, uint32_t version) const;
  static std::string tag(uint32_t variant, uint32_t version);

  // The origin has a request, and is done with it. `part`: what it asks for of the resource. Empty,
  // or what is wrong.
  std::string begins(uint32_t site, const std::string& request, const std::string& part);
  void ends(uint32_t site, const std::string& request);
  // The serial number that the response is to carry.
  uint64_t give(const Given& given);
  void failed(uint32_t site, uint64_t now_ns) { failures_[site].push_back(now_ns); }
  // The network is slow, and fails at any time, and nobody knows when.
  void expectFailures() {
    always_failing_ = true;
    transit_ns_ = 3 * base::kSecond_ns;
  }

  // Empty, or what is wrong with the answer.
  std::string judge(const Wish& wish, const Message& got, uint64_t now_ns);
  uint64_t reused() const { return reused_; }    // answers older than their request
  uint64_t staleUsed() const { return stale_; }  // of these, past their lifetime, allowed
  uint64_t alone() const { return alone_; }      // answers for one client only

 private:
  std::string judgeSharing(const Wish& wish, Given& given);
  std::string judgeAge(const Wish& wish, const Given& given, uint64_t now_ns);
  std::string judgeBody(const Wish& wish, const Message& got, const Given& given) const;
  bool failedWithin(uint32_t site, uint64_t from_ns, uint64_t to_ns) const;

  std::vector<Site> sites_;
  std::vector<uint32_t> versions_;
  struct Pending {
    std::string request;
    std::string part;
  };
  std::vector<std::vector<Pending>> with_origin_;
  std::vector<Given> given_;  // by serial number - 1
  std::map<uint32_t, std::vector<uint64_t>> failures_;
  bool always_failing_ = false;
  uint64_t transit_ns_ = 20 * base::kMillisecond_ns;  // from the origin to the proxy, at most
  uint64_t reused_ = 0;
  uint64_t stale_ = 0;
  uint64_t alone_ = 0;
};

}  // namespace sim
