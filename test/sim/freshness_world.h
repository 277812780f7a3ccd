// An origin and clients for the oracle of freshness: the origin says something new about the use of
// each answer, and fails; the clients ask in all the ways that RFC 9111 5.2.1 has, and leave early.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "test/sim/campaign.h"
#include "test/sim/freshness.h"
#include "test/sim/world.h"

namespace sim {

class FreshOrigin {
 public:
  static constexpr uint16_t kPort = 8000;

  // one_at_a_time: the oracle judges how many requests there are. knows_ranges: RFC 9110 14.
  struct Manner {
    bool one_at_a_time = false;
    bool knows_ranges = false;
  };
  FreshOrigin(SimWorld& world, Judge& judge, FreshnessOracle& oracle, Manner manner);
  void start();
  void stop() { host_.group().cancelAll(); }
  bool idle() { return host_.group().size() == 0; }

 private:
  rt::Task<void> acceptAll(int listener);
  rt::Task<void> serve(int fd);
  rt::Task<bool> answer(int fd, const Message& request, uint32_t id);
  rt::Task<bool> fails(int fd, const Message& request, uint32_t id);
  rt::Task<bool> send(int fd, std::string head, std::string body, uint32_t id);

  SimWorld& world_;
  Judge& judge_;
  FreshnessOracle& oracle_;
  Manner manner_;
  SimHost& host_;
  base::Random random_;
};

class FreshClient {
 public:
  FreshClient(SimWorld& world, Judge& judge, FreshnessOracle& oracle, uint64_t& visits);
  void start(uint64_t requests, uint64_t pause_max_ns);
  bool idle() { return host_.group().size() == 0; }
  uint64_t answered() const { return answered_; }
  uint64_t cut() const { return cut_; }

 private:
  rt::Task<void> visit(uint64_t requests, uint64_t pause_max_ns);
  rt::Task<void> ask(Wish wish);
  rt::Task<void> leaveEarly(int fd, uint64_t after_ns);
  Wish choose();
  void chooseDirectives(Wish& wish);
  std::string textOf(const Wish& wish);

  SimWorld& world_;
  Judge& judge_;
  FreshnessOracle& oracle_;
  uint64_t& visits_;
  SimHost& host_;
  base::Random random_;
  uint64_t answered_ = 0;
  uint64_t cut_ = 0;
};

}  // namespace sim
