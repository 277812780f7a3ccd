// Which engine the process runs on, why, and the making of each shard's own. Decided once, on the
// control thread, before anything starts.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "source/config/model/snapshot.h"
#include "source/io/epoll/epoll_engine.h"
#include "source/io/uring/uring_engine.h"
#include "source/rt/io_engine.h"

namespace server {

class Engines {
 public:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  // For `shards` shards and the control thread, whose id is `shards`. AUTO takes io_uring if all
  // rings can be had, else epoll. An error is a sentence.
  std::string open(const config::RuntimeConfig& runtime, uint16_t shards);

  config::Engine kind() const { return kind_; }  // io_uring or epoll
  // "IO_URING" or "EPOLL", and why, for people.
  const char* name() const { return kind_ == config::Engine::epoll ? "EPOLL" : "IO_URING"; }
  const std::string& reason() const { return reason_; }
  // AUTO was asked for and io_uring is not to be had.
  bool fellBack() const { return fell_back_; }
  // What is in force in every shard: names of the configuration's fields, and values.
  const Settings& settings() const { return settings_; }

  // How a cache's objects are read; an error is a sentence that names its field.
  struct DiskIo {
    config::DiskIo how = config::DiskIo::automatic;  // io_uring, libaio or sendfile
    std::string error;
  };
  DiskIo diskIo(const config::CacheConfig& cache) const;
  // The same in words, for operators; direct: its files are open for direct I/O.
  std::string describe(config::DiskIo how, bool direct) const;

  // The engine of one shard, on its own thread; `aio_files` are read and written by kernel AIO.
  // An error is a sentence.
  struct Made {
    std::unique_ptr<rt::IoEngine> engine;
    std::string error;
  };
  Made make(base::ShardId self, std::span<const int> aio_files) const;

 private:
  config::Engine kind_ = config::Engine::io_uring;
  std::string openRings(const config::RuntimeConfig& runtime);
  void describe(const config::RuntimeConfig& runtime);

  io::UringOptions ring_;
  Settings settings_;
  std::string reason_;
  bool fell_back_ = false;
  uint16_t shards_ = 0;
  std::unique_ptr<io::Doorbells> rings_;
  std::unique_ptr<io::EventDoorbells> events_;
};

}  // namespace server
