#include "test/bench/collapse/options.h"

#include <getopt.h>

#include <cstdio>
#include <cstdlib>

namespace collapse {
namespace {

constexpr char kUsage[] =
    "usage: collapse_load --server-port PORT --origin-fd FD --server-pid PID [--clients N]\n"
    "  [--bytes N] [--no-store] [--settle-ms MS] [--patience-s S] [--first-ms MS]\n"
    "  [--growth-mib MIB]\n"
    "tools/collapse_check starts the server and this program.\n";

enum Flag : int {
  server_port,
  origin_fd,
  server_pid,
  clients,
  bytes,
  no_store,
  settle_ms,
  patience_s,
  first_ms,
  growth_mib,
};

constexpr option kFlags[] = {{"server-port", required_argument, nullptr, server_port},
                             {"origin-fd", required_argument, nullptr, origin_fd},
                             {"server-pid", required_argument, nullptr, server_pid},
                             {"clients", required_argument, nullptr, clients},
                             {"bytes", required_argument, nullptr, bytes},
                             {"no-store", no_argument, nullptr, no_store},
                             {"settle-ms", required_argument, nullptr, settle_ms},
                             {"patience-s", required_argument, nullptr, patience_s},
                             {"first-ms", required_argument, nullptr, first_ms},
                             {"growth-mib", required_argument, nullptr, growth_mib},
                             {nullptr, 0, nullptr, 0}};

// A decimal number from 1 to `most`.
template <class T>
bool number(const char* text, uint64_t most, T& to) {
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  to = static_cast<T>(value);
  return *text >= '0' && *text <= '9' && *end == '\0' && value > 0 && value <= most;
}

bool set(int flag, const char* text, Options& options) {
  switch (flag) {
    case server_port:
      return number(text, UINT16_MAX, options.server_port);
    case origin_fd:
      return number(text, INT32_MAX, options.origin_fd);
    case server_pid:
      return number(text, INT32_MAX, options.server_pid);
    case clients:
      return number(text, 15000, options.clients);  // one address has about 28,000 ports
    case bytes:
      return number(text, uint64_t{1} << 30, options.bytes);
    case no_store:
      options.no_store = true;
      return true;
    case settle_ms:
      return number(text, 60000, options.settle_ms);
    case patience_s:
      return number(text, 3600, options.patience_s);
    case first_ms:
      return number(text, 60000, options.first_ms);
    case growth_mib:
      return number(text, 1 << 20, options.growth_mib);
    default:
      return false;
  }
}

}  // namespace

bool parse(int argc, char** argv, Options& options) {
  for (int flag = 0; (flag = getopt_long(argc, argv, "", kFlags, nullptr)) != -1;) {
    if (!set(flag, optarg, options)) {
      std::fputs(kUsage, stderr);
      return false;
    }
  }
  if (options.server_port == 0 || options.origin_fd < 0 || options.server_pid == 0) {
    std::fputs(kUsage, stderr);
    return false;
  }
  return true;
}

}  // namespace collapse
