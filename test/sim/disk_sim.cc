// Goal: whatever the disk does, also one that lies, the clients get right answers in time
// (proxy_campaign.h).
#include "test/sim/proxy_campaign.h"

namespace sim {
namespace {

uint64_t run(uint64_t seed, Judge& judge) {
  return runProxyCampaign(seed, Hostile::disk, judge);
}

}  // namespace
}  // namespace sim

int main(int argc, char** argv) {
  return sim::runCampaign(argc, argv, "//test/sim:disk_sim", sim::run);
}
