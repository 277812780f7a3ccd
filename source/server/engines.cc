#include "source/server/engines.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "source/io/aio/aio_engine.h"

namespace server {
namespace {

constexpr io::UringOptions kShardRing{};
constexpr io::UringOptions kControlRing{256, 4096};
constexpr io::EpollOptions kControlEpoll{8};  // the control thread leaves disks to the shards

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

std::string Engines::open(config::Engine asked, uint16_t shards) {
  shards_ = shards;
  const auto peers = static_cast<uint16_t>(shards + 1);
  kind_ = config::Engine::epoll;
  reason_ = "as configured";
  if (asked != config::Engine::epoll) {
    const base::Status allowed = io::UringEngine::probe(kShardRing, peers);
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
    rings_ = std::make_unique<io::Doorbells>(peers);
    return {};
  }
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
  auto made = io::UringEngine::create(control ? kControlRing : kShardRing, self, *rings_);
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
