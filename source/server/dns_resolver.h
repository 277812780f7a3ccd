// The resolver port by getaddrinfo on one thread of its own, since it blocks. Questions go in
// through a locked queue, answers come out through another, announced by an eventfd that the
// control reactor reads. Questions are answered one after another.
//
// Limit: kMaxQuestions may wait; more are refused with no_capacity.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "source/base/result.h"
#include "source/rt/task_group.h"
#include "source/upstream/dns.h"

namespace server {

class DnsResolver final : public upstream::Resolver {
 public:
  static constexpr size_t kMaxQuestions = 4096;

  // On the thread of the reactor, which is the control thread's.
  explicit DnsResolver(rt::Reactor& reactor);
  // stop() was awaited, or start() never called.
  ~DnsResolver() override;

  base::Status start();
  // Every resolve() has ended. A question that the system is still busy with is left to the thread,
  // which ends with it.
  rt::Task<void> stop();

  rt::Task<base::Result<std::vector<net::Address>>> resolve(std::string host,
                                                            rt::CancelScope& scope,
                                                            base::MonoTime deadline) override;

 private:
  struct Shared;  // of the two threads
  struct Asked {
    rt::WaitQueue answered;
    base::Result<std::vector<net::Address>> answer{std::vector<net::Address>()};
  };

  static void work(Shared* shared);
  rt::Task<void> listen();
  void deliver();

  Shared* shared_ = nullptr;  // freed by whichever thread leaves last
  std::thread thread_;
  rt::TaskGroup listener_;
  std::map<uint64_t, Asked*> asked_;
  uint64_t next_id_ = 1;
};

}  // namespace server
