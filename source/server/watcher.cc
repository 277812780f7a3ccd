#include "source/server/watcher.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>

namespace server {
namespace {

constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ATTRIB;

std::string directoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

FileWatcher::~FileWatcher() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

base::Status FileWatcher::open(const std::string& path) {
  fd_ = inotify_init1(IN_CLOEXEC);
  if (fd_ < 0 || inotify_add_watch(fd_, directoryOf(path).c_str(), kEvents) < 0) {
    return base::Error{base::Code::io_error, base::Blame::self, base::Retry::never, errno};
  }
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real != nullptr) {
    inotify_add_watch(fd_, directoryOf(real.get()).c_str(), kEvents);
  }
  return base::Unit{};
}

rt::Task<bool> FileWatcher::changed(rt::Reactor& reactor, rt::CancelScope& scope) {
  std::array<std::byte, 4096> events;
  base::MonoTime deadline = base::kNever;
  while (true) {
    const rt::IoResult result = co_await rt::FileOp(rt::OpKind::read, fd_, events,
                                                    rt::kStreamOffset, false, scope, deadline);
    if (result.ended == rt::Ended::timed_out) {
      co_return true;
    }
    if (!result.ok()) {
      co_return false;
    }
    deadline = reactor.now() + kQuiet_ns;
  }
}

}  // namespace server
