// The heart of a simulated world: one clock, one random generator, one queue of events, one trace.
// Everything that happens, happens because an event was due or a host took a turn; events at the
// same time run in the order in which they were scheduled. So a seed decides everything.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "source/base/random.h"
#include "source/base/types.h"

namespace sim {

// What the trace records. The numbers that go with it never contain addresses or the system's
// descriptors.
enum class Trace : uint8_t {
  turn,
  submit,
  finish,
  cancel,
  ring,
  wake,
  connect,
  piece,
  reset,
  crash,
  kill,
  note,  // the scenario's own
};

struct TraceEntry {
  uint64_t at_ns;
  uint64_t a;
  uint64_t b;
  uint64_t c;
  Trace what;
};

class Core {
 public:
  explicit Core(uint64_t seed) : random_(seed), seed_(seed) {}

  uint64_t seed() const { return seed_; }
  base::Random& random() { return random_; }
  // True in `ppm` of a million cases. Draws nothing when the fault is off.
  bool chance(uint32_t ppm) { return ppm != 0 && random_.below(1'000'000) < ppm; }

  uint64_t now() const { return now_ns_; }
  void advanceTo(uint64_t ns) { now_ns_ = ns > now_ns_ ? ns : now_ns_; }

  void schedule(uint64_t at_ns, std::function<void()> action);
  // When the next event is due; UINT64_MAX when there is none.
  uint64_t nextEvent() const { return events_.empty() ? UINT64_MAX : events_.front().at_ns; }
  // Runs the next event if it is due.
  bool runOneDue();

  void trace(Trace what, uint64_t a, uint64_t b = 0, uint64_t c = 0);
  uint64_t traceHash() const { return hash_; }
  uint64_t steps() const { return steps_; }
  // The latest entries, oldest first, for a failure's report.
  std::vector<TraceEntry> recent() const;

 private:
  struct Event {
    uint64_t at_ns;
    uint64_t sequence;
    std::function<void()> action;
  };
  static bool later(const Event& a, const Event& b) {
    return a.at_ns != b.at_ns ? a.at_ns > b.at_ns : a.sequence > b.sequence;
  }
  static constexpr size_t kRecent = 256;

  base::Random random_;
  uint64_t seed_;
  uint64_t now_ns_ = base::kSecond_ns;
  uint64_t sequence_ = 0;
  std::vector<Event> events_;  // a heap: the next one first
  uint64_t hash_ = 0xcbf29ce484222325ULL;
  uint64_t steps_ = 0;
  std::vector<TraceEntry> recent_;
};

}  // namespace sim
