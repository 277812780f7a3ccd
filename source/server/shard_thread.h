// One shard on a thread of its own: the thread makes its engine (a ring belongs to the thread that
// made it), runs the shard's loop, and leaves the engine to be destroyed when all threads have
// ended, since peers may still ring.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "source/server/engines.h"
#include "source/shard/shard.h"
#include "source/telemetry/log_ring.h"

namespace server {

class ShardThread {
 public:
  struct Setup {
    shard::ShardOptions options;
    int cpu = -1;  // pinned to; -1: not
    rt::Mesh* mesh = nullptr;
    const Engines* engines = nullptr;
    std::vector<int> aio_files;  // of caches that are read and written by kernel AIO
    net::SocketFactory* sockets = nullptr;
    const std::vector<std::unique_ptr<cache::CacheShared>>* caches = nullptr;
  };
  explicit ShardThread(const Setup& setup);
  ~ShardThread();

  // Starts the thread and waits until its shard answers calls. An error is a sentence.
  std::string start();
  // After the shard was told to stop.
  void join();
  // The shard's lines for the operators' log.
  telemetry::LogRing& log() { return log_; }

 private:
  void run(std::promise<std::string> started);
  rt::Task<void> startShard();

  Setup setup_;
  telemetry::LogRing log_;
  std::thread thread_;
  std::unique_ptr<rt::IoEngine> engine_;
  std::unique_ptr<shard::Shard> shard_;
};

}  // namespace server
