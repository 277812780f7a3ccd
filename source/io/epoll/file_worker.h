// One helper thread of an engine, for file operations that would block the shard: through the page
// cache, or appending to a regular file. Started by the first of them. Operations run one by one,
// in order; an eventfd announces that some have ended.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "source/base/result.h"
#include "source/rt/op.h"

namespace io {

class FileWorker {
 public:
  // `name` is the thread's. The error's sys says why not (EMFILE).
  static base::Result<std::unique_ptr<FileWorker>> create(std::string name);
  // Nothing is under way any more.
  ~FileWorker();

  // Readable (a count of eight bytes) when operations have ended; whoever waits for it reads it.
  int eventFd() const { return event_fd_; }
  // op.kind is read or write; kStreamOffset: at the file's own place.
  void push(rt::Op& op);
  // True: the operation had not begun and is its owner's again. False: it ends by itself.
  bool cancel(rt::Op& op);
  // Appends operations that have ended, result set.
  void reap(rt::OpList& ended);

 private:
  explicit FileWorker(std::string name) : name_(std::move(name)) {}
  void run();

  std::string name_;
  int event_fd_ = -1;
  std::thread thread_;
  std::mutex mutex_;  // of what follows
  std::condition_variable wanted_;
  rt::OpList waiting_;
  rt::OpList ended_;
  bool stopping_ = false;
};

}  // namespace io
