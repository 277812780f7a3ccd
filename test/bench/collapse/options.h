// What collapse_load is asked for on its command line.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace collapse {

struct Options {
  uint16_t server_port = 0;
  int origin_fd = -1;  // a listening socket that the program has inherited
  pid_t server_pid = 0;
  uint32_t clients = 1000;
  uint64_t bytes = 10'000'000;
  bool no_store = false;      // the object may not be stored: everybody has a fetch of his own
  uint32_t settle_ms = 500;   // from the last request to the origin's answer
  uint32_t patience_s = 120;  // without any progress for a tenth of this, it ends
  uint32_t first_ms = 50;     // the bars
  uint32_t growth_mib = 32;
};

// False after saying what is wrong on standard error.
bool parse(int argc, char** argv, Options& options);

}  // namespace collapse
