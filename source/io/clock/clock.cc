#include "source/io/clock/clock.h"

#include <sys/resource.h>
#include <time.h>

namespace io {
namespace {

timespec read(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t;
}

uint64_t nanoseconds(const timeval& t) {
  return static_cast<uint64_t>(t.tv_sec) * base::kSecond_ns +
         static_cast<uint64_t>(t.tv_usec) * base::kMicrosecond_ns;
}

}  // namespace

base::MonoTime monotonicNow() {
  const timespec t = read(CLOCK_MONOTONIC);
  return base::MonoTime{static_cast<uint64_t>(t.tv_sec) * base::kSecond_ns +
                        static_cast<uint64_t>(t.tv_nsec)};
}

base::UnixSeconds wallNow() {
  return base::UnixSeconds{read(CLOCK_REALTIME_COARSE).tv_sec};
}

int64_t wallMillisecondsNow() {
  const timespec t = read(CLOCK_REALTIME_COARSE);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

rt::CpuTime threadCpuTime() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return rt::CpuTime{nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime)};
}

}  // namespace io
