// What a simulated world can do to the programs in it, and how often. Chances are in parts per
// million and integers, so that a seed means the same on every machine.
//
// Options() is a calm world: everything takes a little while and comes in pieces, nothing fails.
// Options::fromSeed() draws every weight anew ("swarm testing"): many faults are off in a given
// seed, so that those that are on reach deeper states than an even mix would.
#pragma once

#include <cstdint>

#include "source/base/types.h"

namespace sim {

inline constexpr uint32_t kAlways = 1'000'000;

struct NetworkOptions {
  uint64_t latency_min_ns = 5 * base::kMicrosecond_ns;  // one way
  uint64_t latency_max_ns = 200 * base::kMicrosecond_ns;
  uint32_t spike = 0;  // a piece that takes up to spike_max_ns
  uint64_t spike_max_ns = 500 * base::kMillisecond_ns;
  uint32_t window_min = 4096;  // bytes a receiver holds before its sender must wait, drawn for each
  uint32_t window_max = 256 * 1024;  // connection and direction
  uint32_t fragment = 200'000;       // a piece that ends at a random place
  uint32_t short_read = 100'000;     // a receive that gives less than there is
  uint32_t slow_send = 200'000;      // a send whose completion comes later than its last byte left
  uint32_t reset = 0;                // a piece that is answered by a reset of the connection
  uint32_t refuse = 0;               // a connect that is refused although somebody listens
  uint32_t blackhole = 0;            // a connect that nobody ever answers
  uint32_t slow_accept = 100'000;    // a connection that is accepted up to spike_max_ns late
  uint32_t accept_error = 0;         // an accept that fails with ECONNABORTED or EMFILE
  uint32_t early_no_buffers =
      500'000;  // recv_select without a free buffer fails before bytes are there
  uint32_t backlog = 128;
};

struct DiskOptions {
  uint64_t latency_min_ns = 20 * base::kMicrosecond_ns;
  uint64_t latency_max_ns = 2 * base::kMillisecond_ns;
  uint32_t spike = 0;
  uint64_t spike_max_ns = 300 * base::kMillisecond_ns;
  uint32_t read_error = 0;      // EIO
  uint32_t write_error = 0;     // EIO; any sectors of the write may have reached the disk
  uint32_t sync_error = 0;      // EIO; what was to be synced is never synced later (as Linux does)
  uint32_t short_transfer = 0;  // a read or write that ends early, at a sector
  uint32_t lost_write = 0;      // acknowledged and never written
  uint32_t misdirected_write = 0;  // written to another place of the same file
  uint32_t bit_rot = 0;            // a read that finds one bit changed for good
  uint32_t hang = 0;  // an operation that does not end before the options no longer have this
  uint32_t page_drop = 100'000;  // pages that are to be sent are dropped before
  uint32_t write_back =
      100'000;  // after a write, some unsynced sectors become durable by themselves
};

struct Options {
  NetworkOptions network;
  DiskOptions disk;
  uint64_t turn_max_ns = 20 * base::kMicrosecond_ns;  // what one turn of a host takes, at most
  uint64_t doorbell_max_ns = 60 * base::kMicrosecond_ns;
  uint64_t wall_start_s = 1'700'000'000;
  bool registered_region = true;  // whether registerRegion succeeds

  // Weights of a swarm. Faults that break what a disk promises (lost and misdirected writes, bit
  // rot) are drawn only when asked for.
  static Options fromSeed(uint64_t seed, bool broken_disk = false);
};

}  // namespace sim
