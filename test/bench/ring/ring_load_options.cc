#include "test/bench/ring/ring_load_options.h"

#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace ringload {
namespace {

constexpr char kUsage[] =
    "usage: ring_load [--mode defer|coop|interrupt] [--sqpoll-ms N] [--sqpoll-cpu N]\n"
    "  [--submit-batch N] [--busy-poll-ns N] [--libaio]\n"
    "  [--target null|handover|PATH] [--operation read|write|mixed] [--block BYTES]\n"
    "  [--depth N | --rate N] [--seconds S]\n"
    "Prints one line of JSON. Without --rate, `depth` operations are under way all the time; with\n"
    "it, one at a time, so many a second.\n";

enum Flag : int {
  mode,
  sqpoll_ms,
  sqpoll_cpu,
  submit_batch,
  busy_poll_ns,
  libaio,
  target,
  operation,
  block,
  depth,
  rate,
  seconds,
};

constexpr option kFlags[] = {{"mode", required_argument, nullptr, mode},
                             {"sqpoll-ms", required_argument, nullptr, sqpoll_ms},
                             {"sqpoll-cpu", required_argument, nullptr, sqpoll_cpu},
                             {"submit-batch", required_argument, nullptr, submit_batch},
                             {"busy-poll-ns", required_argument, nullptr, busy_poll_ns},
                             {"libaio", no_argument, nullptr, libaio},
                             {"target", required_argument, nullptr, target},
                             {"operation", required_argument, nullptr, operation},
                             {"block", required_argument, nullptr, block},
                             {"depth", required_argument, nullptr, depth},
                             {"rate", required_argument, nullptr, rate},
                             {"seconds", required_argument, nullptr, seconds},
                             {nullptr, 0, nullptr, 0}};

uint32_t number(const char* text) {
  return static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

bool setMode(std::string_view text, Options& options) {
  options.ring.completions = text == "coop"        ? io::Completions::coop
                             : text == "interrupt" ? io::Completions::interrupt
                                                   : io::Completions::defer;
  return text == "defer" || text == "coop" || text == "interrupt";
}

bool setOperation(std::string_view text, Options& options) {
  options.operation = text == "write"   ? Operation::write
                      : text == "mixed" ? Operation::mixed
                                        : Operation::read;
  return text == "read" || text == "write" || text == "mixed";
}

void setTarget(std::string_view text, Options& options) {
  options.target = text == "null"       ? Target::null
                   : text == "handover" ? Target::handover
                                        : Target::file;
  options.path = text;
}

bool set(int flag, const char* text, Options& options) {
  switch (flag) {
    case mode:
      return setMode(text, options);
    case sqpoll_ms:
      options.ring.sqpoll = true;
      options.ring.completions = io::Completions::interrupt;
      options.ring.sqpoll_idle_ms = number(text);
      return true;
    case sqpoll_cpu:
      options.ring.sqpoll_cpu = number(text);
      return true;
    case submit_batch:
      options.ring.submit_batch = number(text);
      return options.ring.submit_batch > 0;
    case busy_poll_ns:
      options.busy_poll_ns = number(text);
      return true;
    case libaio:
      options.libaio = true;
      return true;
    case target:
      setTarget(text, options);
      return true;
    case operation:
      return setOperation(text, options);
    case block:
      options.block = number(text);
      return options.block > 0 && options.block % 4096 == 0 && options.block <= 4U << 20;
    case depth:
      options.depth = number(text);
      return options.depth > 0 && options.depth <= 512;
    case rate:
      options.rate = number(text);
      return options.rate > 0;
    case seconds:
      options.seconds = std::strtod(text, nullptr);
      return options.seconds > 0;
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
  if (options.libaio && options.target != Target::file) {
    std::fputs("ring_load: --libaio needs a file\n", stderr);
    return false;
  }
  return true;
}

}  // namespace ringload
