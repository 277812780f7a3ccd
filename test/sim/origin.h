// A scripted origin: answers every resource of the ledger with its present version, and misbehaves
// by weights.
#pragma once

#include <cstdint>
#include <map>

#include "test/sim/ledger.h"
#include "test/sim/world.h"

namespace sim {

// In parts per million of requests.
struct OriginFaults {
  uint32_t error = 0;  // 500
  uint32_t slow = 0;   // a pause of up to slow_max_ns before the head
  uint64_t slow_max_ns = 3 * base::kSecond_ns;
  uint32_t hang_up = 0;   // the connection closes instead of an answer
  uint32_t truncate = 0;  // the connection is reset within the body
  uint32_t close = 0;     // the connection closes after the answer, announced or not
};

class Origin {
 public:
  static constexpr uint16_t kPort = 8000;

  Origin(SimWorld& world, Ledger& ledger, const OriginFaults& faults);
  void start(uint16_t listeners);
  void stop() { host_.group().cancelAll(); }
  bool idle() { return host_.group().size() == 0; }
  SimHost& host() { return host_; }
  void setFaults(const OriginFaults& faults) { faults_ = faults; }
  // Answers with a version so far, and requests for a resource.
  uint64_t answers() const { return answers_; }
  uint64_t requestsFor(uint32_t id) const {
    const auto found = requests_.find(id);
    return found == requests_.end() ? 0 : found->second;
  }

 private:
  rt::Task<void> acceptAll(int listener);
  rt::Task<void> serve(int fd);
  // False: the connection ends.
  rt::Task<bool> answer(int fd, Message request);
  rt::Task<bool> sendBody(int fd, std::string body, Framing framing, base::MonoTime deadline);
  rt::Task<bool> post(int fd, uint32_t id);

  SimWorld& world_;
  Ledger& ledger_;
  OriginFaults faults_;
  SimHost& host_;
  base::Random random_;
  uint64_t answers_ = 0;
  std::map<uint32_t, uint64_t> requests_;
};

}  // namespace sim
