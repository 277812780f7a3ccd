#include "source/io/epoll/file_worker.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "source/base/check.h"

namespace io {
namespace {

int32_t perform(const rt::Op& op) {
  const auto offset = static_cast<off_t>(op.offset);
  ssize_t result = 0;
  do {
    if (op.kind == rt::OpKind::read) {
      result = op.offset == rt::kStreamOffset ? read(op.fd, op.addr, op.len)
                                              : pread(op.fd, op.addr, op.len, offset);
    } else {
      CHECK(op.kind == rt::OpKind::write);
      result = op.offset == rt::kStreamOffset ? write(op.fd, op.addr, op.len)
                                              : pwrite(op.fd, op.addr, op.len, offset);
    }
  } while (result < 0 && errno == EINTR);
  return result < 0 ? -errno : static_cast<int32_t>(result);
}

}  // namespace

base::Result<std::unique_ptr<FileWorker>> FileWorker::create(std::string name) {
  std::unique_ptr<FileWorker> worker(new FileWorker(std::move(name)));
  worker->event_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (worker->event_fd_ < 0) {
    return base::Error{base::Code::no_capacity, base::Blame::self, base::Retry::never, errno};
  }
  return worker;
}

FileWorker::~FileWorker() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      CHECK(waiting_.empty());
      stopping_ = true;
    }
    wanted_.notify_one();
    thread_.join();
  }
  if (event_fd_ >= 0) {
    close(event_fd_);
  }
}

void FileWorker::push(rt::Op& op) {
  op.state = rt::Op::State::in_kernel;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push(&op);
  }
  if (thread_.joinable()) {
    wanted_.notify_one();
  } else {
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), name_.c_str());
  }
}

bool FileWorker::cancel(rt::Op& op) {
  const std::lock_guard lock(mutex_);
  rt::OpList kept;
  bool found = false;
  while (rt::Op* one = waiting_.pop()) {
    if (one == &op) {
      found = true;
    } else {
      kept.push(one);
    }
  }
  waiting_ = kept;
  return found;
}

void FileWorker::reap(rt::OpList& ended) {
  const std::lock_guard lock(mutex_);
  while (rt::Op* op = ended_.pop()) {
    ended.push(op);
  }
}

void FileWorker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    rt::Op* op = waiting_.pop();
    if (op == nullptr) {
      if (stopping_) {
        return;
      }
      wanted_.wait(lock);
      continue;
    }
    lock.unlock();
    const int32_t result = perform(*op);
    lock.lock();
    op->result = result;
    ended_.push(op);
    const uint64_t one = 1;
    const ssize_t told = write(event_fd_, &one, sizeof one);
    CHECK(told == sizeof one || errno == EAGAIN);  // full: it is readable anyway
  }
}

}  // namespace io
