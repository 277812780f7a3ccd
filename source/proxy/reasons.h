// One counter for each reason why the cache did not serve or keep a response.
#pragma once

#include <cstdint>

#include "source/policy/request.h"
#include "source/policy/response.h"
#include "source/policy/serve.h"
#include "source/proxy/stats.h"

namespace proxy {

uint64_t& counterOf(ProxyStats& stats, policy::BypassReason why);
uint64_t& counterOf(ProxyStats& stats, policy::NoStoreReason why);
// Of a reason other than none, absent and hit_for_miss, which have counters of their own.
uint64_t& counterOf(ProxyStats& stats, policy::NoReuseReason why);

}  // namespace proxy
