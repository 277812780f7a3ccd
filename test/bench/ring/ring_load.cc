// Load on one shard's engine, without a server around it: how many operations a second, at what
// latency and CPU, by ring setting and target. tools/bench completions and idle run it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "source/base/random.h"
#include "source/io/aio/aio_engine.h"
#include "source/io/uring/uring_engine.h"
#include "source/rt/reactor.h"
#include "source/telemetry/histogram.h"
#include "test/bench/ring/ring_load_options.h"

namespace ringload {
namespace {

constexpr size_t kHugePage = 2 << 20;
constexpr uint32_t kMessageBytes = 8;  // of a handover

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "ring_load: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

// One place in the queue: its operation, when that was begun, its buffer and, for handovers, the
// pair of sockets and the send that completes the receive.
struct Slot;
struct SlotOp : rt::Op {
  Slot* slot = nullptr;
};
struct Slot {
  SlotOp op;
  SlotOp signal;
  base::MonoTime begun;
  std::byte* buffer = nullptr;
  int ends[2] = {-1, -1};
  int under_way = 0;
};

// CPU time of the kernel's submission threads of this process, from the scheduler's figures.
uint64_t kernelThreadNs() {
  uint64_t sum = 0;
  for (int tid = getpid(); tid < getpid() + 64; tid++) {
    const std::string folder = "/proc/self/task/" + std::to_string(tid);
    std::string name;
    uint64_t ns = 0;
    std::ifstream(folder + "/comm") >> name;
    std::ifstream(folder + "/schedstat") >> ns;
    sum += name.starts_with("iou-sqp") ? ns : 0;
  }
  return sum;
}

class Load {
 public:
  explicit Load(const Options& options) : options_(options), doorbells_(1) {
    openEngine();
    openTarget();
    openMemory();
  }

  void run() {
    const base::MonoTime begun = engine_->monotonic();
    const base::MonoTime end =
        begun + static_cast<uint64_t>(options_.seconds * static_cast<double>(base::kSecond_ns));
    const rt::CpuTime cpu_before = engine_->cpuTime();
    const uint64_t kernel_before = kernelThreadNs();
    options_.rate == 0 ? closed(end) : paced(begun, end);
    const uint64_t took_ns = engine_->monotonic().ns - begun.ns;
    const rt::CpuTime cpu = engine_->cpuTime();
    print(took_ns, cpu.user_ns + cpu.kernel_ns - cpu_before.user_ns - cpu_before.kernel_ns,
          kernelThreadNs() - kernel_before);
  }

 private:
  void openEngine() {
    auto ring = io::UringEngine::create(options_.ring, base::ShardId{0}, doorbells_);
    if (!ring.ok()) {
      errno = ring.error().sys;
      die("io_uring");
    }
    engine_ = std::move(ring.value());
  }

  void openTarget() {
    if (options_.target == Target::null) {
      zero_ = open("/dev/zero", O_RDONLY | O_CLOEXEC);
      null_ = open("/dev/null", O_WRONLY | O_CLOEXEC);
    } else if (options_.target == Target::file) {
      file_ = open(options_.path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
      struct stat info{};
      if (file_ < 0 || fstat(file_, &info) != 0 ||
          static_cast<uint64_t>(info.st_size) < options_.block) {
        die(options_.path);
      }
      places_ = static_cast<uint64_t>(info.st_size) / options_.block;
    }
    if (options_.libaio) {
      auto made = io::AioEngine::create(std::move(engine_), std::span<const int>(&file_, 1));
      if (!made.ok()) {
        errno = made.error().sys;
        die("kernel AIO");
      }
      engine_ = std::move(made.value());
    }
  }

  void openMemory() {
    const uint32_t depth = options_.rate == 0 ? options_.depth : 1;
    const size_t length = (size_t{depth} * options_.block + kHugePage - 1) / kHugePage * kHugePage;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kHugePage, length));
    madvise(memory, length, MADV_HUGEPAGE);
    std::memset(memory, 1, length);
    fixed_ = engine_->registerRegion(std::span<std::byte>(memory, length)) && !options_.libaio;
    for (uint32_t i = 0; i < depth; i++) {
      slots_.push_back(std::make_unique<Slot>());
      slots_.back()->op.slot = slots_.back()->signal.slot = slots_.back().get();
      slots_.back()->buffer = memory + size_t{i} * options_.block;
      if (options_.target == Target::handover &&
          socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, slots_.back()->ends) != 0) {
        die("sockets");
      }
    }
  }

  // The operation of a slot, filled in anew.
  void fill(Slot& slot) {
    const bool write = options_.operation == Operation::write ||
                       (options_.operation == Operation::mixed && random_.chance(1, 2));
    slot.op.kind = write ? rt::OpKind::write : rt::OpKind::read;
    slot.op.addr = slot.buffer;
    slot.op.len = options_.block;
    slot.op.fixed = fixed_;
    switch (options_.target) {
      case Target::null:
        slot.op.fd = write ? null_ : zero_;
        slot.op.offset = 0;
        break;
      case Target::file:
        slot.op.fd = file_;
        slot.op.offset = random_.below(places_) * options_.block;
        break;
      case Target::handover:
        slot.op.kind = rt::OpKind::recv;
        slot.op.fixed = false;
        slot.op.fd = slot.ends[0];
        slot.op.len = kMessageBytes;
        break;
    }
  }

  void signal(Slot& slot) {
    slot.signal.kind = rt::OpKind::send;
    slot.signal.fd = slot.ends[1];
    slot.signal.addr = slot.buffer;
    slot.signal.len = kMessageBytes;
    slot.under_way++;
    engine_->prepare(slot.signal);
  }

  // /dev/zero gives way to other threads after a part; it is the framework that is measured there.
  void check(const rt::Op& op) {
    const bool part = options_.target == Target::null && op.result > 0;
    if (op.result != static_cast<int32_t>(op.len) && !part) {
      errno = op.result < 0 ? -op.result : EIO;
      die("an operation failed or was short");
    }
  }

  void begin(Slot& slot, base::MonoTime now) {
    fill(slot);
    slot.begun = now;
    slot.under_way++;
    engine_->prepare(slot.op);
    if (options_.target == Target::handover) {
      signal(slot);
    }
  }

  // As many as it can, `depth` at a time.
  void closed(base::MonoTime end) {
    base::MonoTime now = engine_->monotonic();
    for (const std::unique_ptr<Slot>& slot : slots_) {
      begin(*slot, now);
    }
    while (engine_->stats().in_flight > 0) {
      rt::OpList completed;
      engine_->enter(base::kNever, completed);
      now = engine_->monotonic();
      while (rt::Op* op = completed.pop()) {
        check(*op);
        Slot& slot = *static_cast<SlotOp*>(op)->slot;
        slot.under_way--;
        if (slot.under_way > 0) {
          continue;  // the other of a handover's two
        }
        latency_.record(now.ns - slot.begun.ns);
        if (now < end) {
          begin(slot, now);
        }
      }
    }
  }

  // One at a time, by the clock, as a shard does that has little to do: it polls as configured and
  // then sleeps.
  void paced(base::MonoTime begun, base::MonoTime end) {
    prctl(PR_SET_TIMERSLACK, 1UL);
    rt::Reactor reactor(*engine_, rt::BusyPollOptions{options_.busy_poll_ns, 0});
    const uint64_t gap_ns = base::kSecond_ns / options_.rate;
    Slot& slot = *slots_.front();
    for (base::MonoTime next = begun; next < end; next = next + gap_ns) {
      const timespec at{static_cast<time_t>(next.ns / base::kSecond_ns),
                        static_cast<long>(next.ns % base::kSecond_ns)};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
      fill(slot);
      const base::MonoTime asked = engine_->monotonic();
      reactor.submit(slot.op);
      while (slot.op.state != rt::Op::State::done) {
        reactor.runTurn(true);
      }
      latency_.record(engine_->monotonic().ns - asked.ns);
      check(slot.op);
    }
  }

  void print(uint64_t took_ns, uint64_t cpu_ns, uint64_t kernel_ns) const {
    const auto count = static_cast<double>(latency_.count());
    const auto seconds = static_cast<double>(took_ns) / 1e9;
    const rt::IoStats& stats = engine_->stats();
    const uint32_t bytes = options_.target == Target::handover ? kMessageBytes : options_.block;
    std::printf(
        "{\"iops\": %.0f, \"mbps\": %.1f, \"avg_us\": %.2f, \"p50_us\": %.2f, \"p99_us\": %.2f, "
        "\"cpu_us\": %.3f, \"cpu_percent\": %.1f, \"kernel_thread_percent\": %.1f, "
        "\"per_enter\": %.2f, \"overflows\": %llu}\n",
        count / seconds, count * bytes / seconds / 1e6, latency_.mean() / 1e3,
        static_cast<double>(latency_.quantile(0.5)) / 1e3,
        static_cast<double>(latency_.quantile(0.99)) / 1e3,
        static_cast<double>(cpu_ns) / 1e3 / count, static_cast<double>(cpu_ns) / 1e7 / seconds,
        static_cast<double>(kernel_ns) / 1e7 / seconds,
        static_cast<double>(stats.completions) / static_cast<double>(stats.enters),
        static_cast<unsigned long long>(stats.cq_overflows));
  }

  Options options_;
  io::Doorbells doorbells_;
  std::unique_ptr<rt::IoEngine> engine_;
  int zero_ = -1;
  int null_ = -1;
  int file_ = -1;
  uint64_t places_ = 0;
  bool fixed_ = false;
  std::vector<std::unique_ptr<Slot>> slots_;
  telemetry::Histogram latency_;
  base::Random random_{1};
};

}  // namespace
}  // namespace ringload

int main(int argc, char** argv) {
  ringload::Options options;
  if (!ringload::parse(argc, argv, options)) {
    return 2;
  }
  ringload::Load(options).run();
  return 0;
}
