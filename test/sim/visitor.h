// A scripted client of a proxy: asks for resources in all the ways that a cache must tell apart,
// and has every answer judged by the ledger.
#pragma once

#include <cstdint>

#include "test/sim/campaign.h"
#include "test/sim/ledger.h"
#include "test/sim/world.h"

namespace sim {

struct VisitorCounts {
  uint64_t asked = 0;
  uint64_t answered = 0;     // whole responses
  uint64_t from_origin = 0;  // with a version
  uint64_t hits = 0;
  uint64_t errors = 0;  // 4xx, 5xx
  uint64_t cut = 0;     // no answer, or half of one
};

class Visitor {
 public:
  static constexpr uint64_t kPatience_ns = 10 * base::kSecond_ns;

  Visitor(SimWorld& world, Judge& judge, Ledger& ledger, uint16_t port);

  // Asks so many times, or until told to stop.
  void start(uint64_t requests, uint64_t pause_max_ns);
  // Requires every request to be answered well within kPatience_ns while the proxy runs: `*life`
  // counts its starts and ends, so it is odd then. Excepted is the body of a version that is no
  // more, or has no validator to ask for the rest of it: that may be cut off.
  void mustSucceed(const uint64_t* life) { life_ = life; }
  // One GET of one resource, which must be answered with 200.
  void demand(uint32_t resource);
  void stop() { host_.group().cancelAll(); }
  bool idle() { return host_.group().size() == 0; }
  SimHost& host() { return host_; }
  const VisitorCounts& counts() const { return counts_; }

 private:
  rt::Task<void> visit(uint64_t requests, uint64_t pause_max_ns);
  rt::Task<void> ask(Asked asked, bool must_succeed);
  rt::Task<bool> connect(base::MonoTime deadline);
  rt::Task<void> disconnect();
  Asked choose();
  std::string textOf(const Asked& asked);
  void consider(const Asked& asked, const Message& got);
  void requireSuccess(const Asked& asked, const Message& got);

  SimWorld& world_;
  Judge& judge_;
  Ledger& ledger_;
  uint16_t port_;
  SimHost& host_;
  base::Random random_;
  int fd_ = -1;
  const uint64_t* life_ = nullptr;
  uint64_t life_begun_ = 0;  // when the connection was made
  std::unique_ptr<MessageReader> reader_;
  VisitorCounts counts_;
};

}  // namespace sim
