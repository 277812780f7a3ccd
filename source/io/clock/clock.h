// The clocks of a real shard, as its engine gives them.
#pragma once

#include <cstdint>

#include "source/base/types.h"
#include "source/rt/io_engine.h"

namespace io {

base::MonoTime monotonicNow();
// As exact as the kernel's tick, and cheap for it.
base::UnixSeconds wallNow();
int64_t wallMillisecondsNow();
// What the calling thread has used.
rt::CpuTime threadCpuTime();

}  // namespace io
