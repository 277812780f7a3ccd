// What ring_load is asked for on its command line.
#pragma once

#include <cstdint>
#include <string>

#include "source/io/uring/ring_setup.h"

namespace ringload {

// null: /dev/zero and /dev/null, which complete while they are submitted. handover: pairs of local
// sockets, whose receives wait until a send of ours completes them. file: direct I/O at random
// places.
enum class Target { null, handover, file };
enum class Operation { read, write, mixed };

struct Options {
  io::UringOptions ring;
  bool libaio = false;  // kernel AIO for the file, on the same ring
  Target target = Target::null;
  std::string path;
  Operation operation = Operation::read;
  uint32_t block = 4096;
  uint32_t depth = 32;
  uint32_t rate = 0;  // operations a second, one at a time; 0: as many as it can, `depth` at a time
  uint64_t busy_poll_ns = 0;
  double seconds = 2;
};

// False after saying what is wrong on standard error.
bool parse(int argc, char** argv, Options& options);

}  // namespace ringload
