#include "source/io/epoll/poller.h"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <cerrno>
#include <cstddef>
#include <new>
#include <utility>

#include "source/base/check.h"

namespace io {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Descriptor = asio::posix::basic_stream_descriptor<asio::io_context::executor_type>;

constexpr size_t kSlot_bytes = 256;  // what Asio keeps of one wait; checked when it asks
constexpr size_t kMaxSpare = 1024;

// One wait's memory.
struct Slot {
  alignas(std::max_align_t) std::byte bytes[kSlot_bytes];
};

template <class T>
struct SlotAllocator {
  using value_type = T;
  Slot* slot = nullptr;

  explicit SlotAllocator(Slot* s) : slot(s) {}
  template <class U>
  SlotAllocator(const SlotAllocator<U>& other) : slot(other.slot) {}
  T* allocate(size_t count) {
    CHECK(count * sizeof(T) <= kSlot_bytes);
    return reinterpret_cast<T*>(slot->bytes);
  }
  void deallocate(T*, size_t) {}
  template <class U>
  bool operator==(const SlotAllocator<U>& other) const {
    return slot == other.slot;
  }
};

constexpr size_t at(Side side) {
  return static_cast<size_t>(side);
}

}  // namespace

struct Poller::Context {
  // One thread alone calls it, and nothing is posted from elsewhere.
  asio::io_context io{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};
};

struct Poller::Watch {
  explicit Watch(asio::io_context& io) : descriptor(io) {}
  Descriptor descriptor;
  int fd = -1;  // -1: forgotten
  bool armed[2] = {};
  Slot slots[2];
};

struct Poller::Ready {
  using allocator_type = SlotAllocator<std::byte>;
  Poller* poller;
  Watch* watch;
  Side side;

  allocator_type get_allocator() const noexcept { return allocator_type(&watch->slots[at(side)]); }
  void operator()(const error_code&) const { poller->onReady(*watch, side); }
};

Poller::Poller() : context_(std::make_unique<Context>()) {}

base::Result<std::unique_ptr<Poller>> Poller::create() {
  try {
    return std::unique_ptr<Poller>(new Poller());
  } catch (const boost::system::system_error& failed) {
    return base::Error{base::Code::unsupported, base::Blame::self, base::Retry::never,
                       failed.code().value()};
  }
}

Poller::~Poller() {
  for (std::unique_ptr<Watch>& watch : watches_) {
    if (watch != nullptr) {
      retire(std::move(watch));
    }
  }
  std::vector<Event> ignored;
  wait(0, ignored);
  CHECK(retired_.empty());
}

bool Poller::knows(int fd) const {
  return fd >= 0 && static_cast<size_t>(fd) < watches_.size() &&
         watches_[static_cast<size_t>(fd)] != nullptr;
}

int Poller::arm(int fd, Side side) {
  if (fd < 0) {
    return -EBADF;
  }
  const auto index = static_cast<size_t>(fd);
  if (index >= watches_.size()) {
    watches_.resize(index + 1);
  }
  if (watches_[index] == nullptr) {
    std::unique_ptr<Watch> watch;
    if (spare_.empty()) {
      watch = std::make_unique<Watch>(context_->io);
    } else {
      watch = std::move(spare_.back());
      spare_.pop_back();
    }
    error_code failed;
    watch->descriptor.assign(fd, failed);
    if (failed) {
      return -failed.value();
    }
    watch->fd = fd;
    watches_[index] = std::move(watch);
  }
  Watch& watch = *watches_[index];
  if (!watch.armed[at(side)]) {
    watch.armed[at(side)] = true;
    watch.descriptor.async_wait(side == Side::read ? Descriptor::wait_read : Descriptor::wait_write,
                                Ready{this, &watch, side});
  }
  return 0;
}

void Poller::onReady(Watch& watch, Side side) {
  watch.armed[at(side)] = false;
  if (watch.fd >= 0) {
    ready_->push_back(Event{watch.fd, side});
  }
}

// Asio gives back the waits of a released descriptor in its next turn; until then they name it.
void Poller::retire(std::unique_ptr<Watch> watch) {
  watch->fd = -1;
  if (watch->descriptor.is_open()) {
    watch->descriptor.release();
  }
  if (watch->armed[0] || watch->armed[1]) {
    retired_.push_back(std::move(watch));
  } else if (spare_.size() < kMaxSpare) {
    spare_.push_back(std::move(watch));
  }
}

void Poller::forget(int fd) {
  if (knows(fd)) {
    retire(std::move(watches_[static_cast<size_t>(fd)]));
  }
}

int Poller::close(int fd) {
  if (!knows(fd)) {
    return ::close(fd) == 0 ? 0 : -errno;
  }
  std::unique_ptr<Watch> watch = std::move(watches_[static_cast<size_t>(fd)]);
  error_code failed;
  watch->descriptor.close(failed);  // spares epoll a call: the kernel forgets what is closed
  retire(std::move(watch));
  return -failed.value();
}

void Poller::wait(uint64_t timeout_ns, std::vector<Event>& ready) {
  ready_ = &ready;
  context_->io.restart();
  if (timeout_ns == UINT64_MAX) {
    context_->io.run_one();
  } else if (timeout_ns > 0) {
    context_->io.run_one_for(std::chrono::nanoseconds(timeout_ns));
  }
  context_->io.poll();
  ready_ = nullptr;
  std::vector<std::unique_ptr<Watch>> retired = std::move(retired_);
  retired_.clear();
  for (std::unique_ptr<Watch>& watch : retired) {
    retire(std::move(watch));
  }
}

}  // namespace io
