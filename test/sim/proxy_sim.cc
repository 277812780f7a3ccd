// Goal: a whole proxy keeps its promises whatever its world does (proxy_campaign.h).
#include "test/sim/proxy_campaign.h"

namespace sim {
namespace {

uint64_t run(uint64_t seed, Judge& judge) {
  return runProxyCampaign(seed, Hostile::everything, judge);
}

}  // namespace
}  // namespace sim

int main(int argc, char** argv) {
  return sim::runCampaign(argc, argv, "//test/sim:proxy_sim", sim::run);
}
