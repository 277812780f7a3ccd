// What the world of a proxy knows to be true: each resource's versions, when the origin said which,
// and what purges promise. It judges every response that a client got. Bodies are a function of
// (resource, variant, version), so each byte can be checked wherever it comes from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "source/base/random.h"
#include "source/base/types.h"
#include "test/sim/talk.h"

namespace sim {

enum class Framing : uint8_t { length, chunked, until_close };

struct Resource {
  uint32_t id = 0;
  uint32_t max_age_s = 0;
  uint32_t stale_s = 0;           // how long it may be used after that, by either extension
  bool while_revalidate = false;  // else: if error
  bool store = true;              // else no-store or private
  bool validator = false;
  bool varies = false;
  Framing framing = Framing::length;
  uint64_t length_max = 0;

  std::string path() const { return "/r/" + std::to_string(id); }
};

struct Asked {
  uint32_t resource = 0;
  uint32_t variant = 0;
  std::string method = "GET";
  std::string range;  // "bytes=a-b" as sent, or empty
  uint64_t range_first = 0;
  uint64_t range_last = 0;
  bool conditional = false;
  bool any_age = false;  // the client accepts stale responses
  uint64_t begun_ns = 0;
};

class Ledger {
 public:
  Ledger(base::Random& random, uint32_t resources, uint64_t slack_ns);

  const Resource& resource(uint32_t id) const { return resources_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(resources_.size()); }
  uint32_t version(uint32_t id) const { return versions_[id]; }
  void bump(uint32_t id) { versions_[id]++; }

  uint64_t lengthOf(uint32_t id, uint32_t version) const;
  std::string body(uint32_t id, uint32_t variant, uint32_t version, uint64_t first,
                   uint64_t count) const;
  static std::string tag(uint32_t variant, uint32_t version);
  std::string headFields(uint32_t id, uint32_t variant, uint32_t version) const;

  // The origin says so: at the begin and at the end of its answer.
  void sent(uint32_t id, uint32_t variant, uint32_t version, uint64_t now_ns);
  // The rest of a version was sent, to who has its first bytes.
  void sliced(uint32_t id, uint32_t variant, uint32_t version, uint64_t now_ns);

  // From now on, answers to new requests are of `version` or later.
  void setFloor(uint32_t id, uint32_t version, uint64_t now_ns, bool durable);
  // A crash: promises that are not durable are void.
  void forget();

  // Empty, or what is wrong with the response.
  std::string judge(const Asked& asked, const Message& got, uint64_t now_ns) const;

 private:
  struct Floor {
    uint32_t version;
    uint64_t since_ns;
    bool durable;
  };
  std::string judgeBody(const Asked& asked, const Message& got, uint32_t version) const;
  std::string judgeAge(const Asked& asked, uint32_t version, bool completed) const;

  std::vector<Resource> resources_;
  std::vector<uint32_t> versions_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> last_sent_ns_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> last_sliced_ns_;
  std::map<uint32_t, std::vector<Floor>> floors_;
  uint64_t slack_ns_;
};

}  // namespace sim
