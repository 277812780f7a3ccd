#include "source/server/shard_thread.h"

#include <pthread.h>
#include <sched.h>

#include <utility>

namespace server {

ShardThread::ShardThread(const Setup& setup) : setup_(setup) {
  setup_.options.log = &log_;
}

ShardThread::~ShardThread() {
  CHECK(!thread_.joinable());
}

std::string ShardThread::start() {
  std::promise<std::string> promise;
  std::future<std::string> started = promise.get_future();
  thread_ = std::thread([this, p = std::move(promise)]() mutable { run(std::move(p)); });
  std::string error = started.get();
  if (!error.empty()) {
    thread_.join();
  }
  return error;
}

void ShardThread::join() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

rt::Task<void> ShardThread::startShard() {
  co_await shard_->start();
}

void ShardThread::run(std::promise<std::string> started) {
  if (setup_.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(setup_.cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // a wish: a shard runs anywhere
  }
  const std::string name = "shard-" + std::to_string(base::index(setup_.options.id));
  pthread_setname_np(pthread_self(), name.c_str());
  Engines::Made made = setup_.engines->make(setup_.options.id, setup_.aio_files);
  if (made.engine == nullptr) {
    started.set_value(made.error);
    return;
  }
  engine_ = std::move(made.engine);
  shard_ = std::make_unique<shard::Shard>(setup_.options, *engine_, *setup_.mesh, *setup_.sockets,
                                          *setup_.caches);
  started.set_value({});
  rt::TaskGroup starting(shard_->reactor(), 1);
  const bool spawned = starting.spawn(startShard());
  CHECK(spawned);
  shard_->reactor().run();
  CHECK(starting.size() == 0);
  shard_.reset();  // every group is empty and every budget full, or this aborts
}

}  // namespace server
