#include "source/server/engines.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "source/io/aio/aio_engine.h"

namespace server {
namespace {

constexpr io::UringOptions kControlRing{256, 4096};
constexpr io::EpollOptions kControlEpoll{8};  // the control thread leaves disks to the shards

io::UringOptions ringOf(const config::RingConfig& config) {
  io::UringOptions options;
  options.sq_entries = config.sq_entries;
  options.cq_entries = config.cq_entries;
  options.submit_batch = config.submit_batch;
  switch (config.completion_mode) {
    case config::CompletionMode::automatic:
      options.completions = config.sqpoll ? io::Completions::interrupt : io::Completions::defer;
      break;
    case config::CompletionMode::defer_taskrun:
      options.completions = io::Completions::defer;
      break;
    case config::CompletionMode::coop_taskrun:
      options.completions = io::Completions::coop;
      break;
    case config::CompletionMode::interrupt:
      options.completions = io::Completions::interrupt;
      break;
  }
  options.sqpoll = config.sqpoll;
  options.sqpoll_idle_ms = config.sqpoll_idle_ms;
  options.sqpoll_cpu = config.sqpoll_cpu;
  options.registered_buffers = config.registered_buffers;
  options.registered_files = config.registered_files;
  options.napi_busy_poll_us = config.napi_busy_poll_us;
  return options;
}

const char* nameOf(io::Completions completions) {
  switch (completions) {
    case io::Completions::defer:
      return "DEFER_TASKRUN";
    case io::Completions::coop:
      return "COOP_TASKRUN";
    case io::Completions::interrupt:
      break;
  }
  return "INTERRUPT";
}

// Rings can be had, but not with these settings.
std::string settingsRefusal(const io::UringOptions& ring, int sys) {
  std::string text =
      std::string("runtime.ring: the kernel refuses these settings: ") + std::strerror(sys);
  if (sys == EINVAL && ring.sqpoll_cpu.has_value()) {
    text += " (sqpoll.cpu " + std::to_string(*ring.sqpoll_cpu) + " must be a CPU that is online)";
  } else if (sys == EINVAL && ring.napi_busy_poll_us > 0) {
    text += " (napi_busy_poll needs Linux 6.9 or later)";
  } else if (sys == ENOMEM) {
    text += " (raise the limit of locked memory, or ask for fewer entries)";
  } else if (sys == EPERM && ring.sqpoll) {
    text += " (sqpoll is forbidden here)";
  }
  return text;
}

std::string inUnits(uint64_t number, const char* unit) {
  return number == 0 ? "none" : std::to_string(number) + unit;
}

// Why io_uring cannot be had; sys is errno.
std::string uringRefusal(int sys) {
  std::string text = std::string("io_uring cannot be used: ") + std::strerror(sys);
  if (sys == EPERM || sys == EACCES) {
    text +=
        " (it is forbidden here: see the sysctl kernel.io_uring_disabled, or the container's "
        "seccomp profile)";
  } else if (sys == ENOSYS) {
    text += " (the kernel has none, or a seccomp profile hides it; 6.1 or later is needed)";
  } else if (sys == ENOMEM || sys == EMFILE || sys == ENFILE) {
    text += " (raise the limits of locked memory or of open files)";
  } else if (sys == EINVAL) {
    text += " (the kernel is too old: 6.1 or later is needed)";
  }
  return text;
}

std::string epollRefusal(const base::Error& error) {
  std::string text = std::string("the epoll engine cannot be used: ") + std::strerror(error.sys);
  if (error.sys == EAGAIN) {
    text += " (raise the sysctl fs.aio-max-nr)";
  } else if (error.sys == EMFILE || error.sys == ENFILE) {
    text += " (raise the limit of open files)";
  } else if (error.sys == EPERM || error.sys == ENOSYS) {
    text += " (kernel AIO, io_setup, is forbidden or missing here)";
  }
  return text;
}

}  // namespace

// io_uring is allowed; whether all rings can be had as configured.
std::string Engines::openRings(const config::RuntimeConfig& runtime) {
  const auto peers = static_cast<uint16_t>(shards_ + 1);
  ring_ = ringOf(runtime.ring);
  if (runtime.ring != config::RingConfig()) {
    const base::Status possible = io::UringEngine::probe(ring_, shards_);
    if (!possible.ok()) {
      return settingsRefusal(ring_, possible.error().sys);
    }
  }
  rings_ = std::make_unique<io::Doorbells>(peers);
  return {};
}

void Engines::describe(const config::RuntimeConfig& runtime) {
  settings_.clear();
  if (kind_ == config::Engine::io_uring) {
    settings_ = {
        {"completion_mode", nameOf(ring_.completions)},
        {"sq_entries", std::to_string(ring_.sq_entries)},
        {"cq_entries", std::to_string(ring_.cq_entries)},
        {"submit_batch", std::to_string(ring_.submit_batch)},
        {"sqpoll_idle", inUnits(ring_.sqpoll ? ring_.sqpoll_idle_ms : 0, "ms")},
        {"sqpoll_cpu", ring_.sqpoll_cpu.has_value() ? std::to_string(*ring_.sqpoll_cpu) : "any"},
        {"registered_buffers", ring_.registered_buffers ? "true" : "false"},
        {"registered_files", ring_.registered_files ? "true" : "false"},
        {"napi_busy_poll", inUnits(ring_.napi_busy_poll_us, "us")}};
  }
  settings_.emplace_back("busy_poll", inUnits(runtime.busy_poll.duration_ns, "ns"));
  const uint32_t budget = runtime.busy_poll.cpu_budget_percent;
  settings_.emplace_back("busy_poll_budget", budget == 0 ? "fixed" : inUnits(budget, "%"));
}

std::string Engines::open(const config::RuntimeConfig& runtime, uint16_t shards) {
  const config::Engine asked = runtime.engine;
  shards_ = shards;
  const auto peers = static_cast<uint16_t>(shards + 1);
  kind_ = config::Engine::epoll;
  reason_ = "as configured";
  if (asked != config::Engine::epoll) {
    const base::Status allowed = io::UringEngine::probe(io::UringOptions{}, peers);
    const std::string why = allowed.ok() ? "" : uringRefusal(allowed.error().sys);
    if (!allowed.ok() && asked == config::Engine::io_uring) {
      return "runtime.engine: IO_URING was asked for, but " + why + "; AUTO falls back to epoll";
    }
    fell_back_ = !allowed.ok();
    kind_ = fell_back_ ? config::Engine::epoll : config::Engine::io_uring;
    if (asked == config::Engine::automatic) {
      reason_ = "AUTO: " + (fell_back_ ? why : "io_uring is available");
    }
  }
  if (kind_ == config::Engine::io_uring) {
    std::string refused = openRings(runtime);
    describe(runtime);
    return refused;
  }
  describe(runtime);
  base::Result<std::unique_ptr<io::EventDoorbells>> events = io::EventDoorbells::create(peers);
  if (!events.ok()) {
    return epollRefusal(events.error());
  }
  events_ = std::move(events.value());
  return {};
}

Engines::DiskIo Engines::diskIo(const config::CacheConfig& cache) const {
  DiskIo result{cache.disk_io, {}};
  const bool epoll = kind_ == config::Engine::epoll;
  const std::string field = "static_resources.caches[" + cache.name + "].disk_io: ";
  switch (cache.disk_io) {
    case config::DiskIo::automatic:
      result.how = epoll ? config::DiskIo::libaio : config::DiskIo::io_uring;
      break;
    case config::DiskIo::io_uring:
      if (epoll) {
        result.error = field + "IO_URING needs the io_uring engine, and this process runs on " +
                       "epoll (" + reason_ + "); use AUTO or LIBAIO";
      }
      break;
    case config::DiskIo::libaio:
    case config::DiskIo::sendfile:
      break;
  }
  return result;
}

std::string Engines::describe(config::DiskIo how, bool direct) const {
  if (how == config::DiskIo::sendfile) {
    return "SENDFILE, from the page cache; written past it";
  }
  if (!direct) {
    return kind_ == config::Engine::epoll ? "helper thread, through the page cache"
                                          : "IO_URING, through the page cache";
  }
  return how == config::DiskIo::libaio ? "LIBAIO, past the page cache"
                                       : "IO_URING, past the page cache";
}

Engines::Made Engines::make(base::ShardId self, std::span<const int> aio_files) const {
  const bool control = base::index(self) == shards_;
  if (kind_ == config::Engine::epoll) {
    auto made =
        io::EpollEngine::create(control ? kControlEpoll : io::EpollOptions{}, self, *events_);
    return made.ok() ? Made{std::move(made.value()), {}}
                     : Made{nullptr, epollRefusal(made.error())};
  }
  auto made = io::UringEngine::create(control ? kControlRing : ring_, self, *rings_);
  if (!made.ok()) {
    return Made{nullptr, uringRefusal(made.error().sys)};
  }
  if (aio_files.empty()) {
    return Made{std::move(made.value()), {}};
  }
  auto wrapped = io::AioEngine::create(std::move(made.value()), aio_files);
  if (!wrapped.ok()) {
    return Made{nullptr,
                std::string("kernel AIO (disk_io: LIBAIO) cannot be used: ") +
                    std::strerror(wrapped.error().sys) +
                    (wrapped.error().sys == EAGAIN ? " (raise the sysctl fs.aio-max-nr)" : "")};
  }
  return Made{std::move(wrapped.value()), {}};
}

}  // namespace server
