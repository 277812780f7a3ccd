// An engine for what does no I/O: a clock that stands still until it is set.
#pragma once

#include <string>
#include <utility>

#include "source/admin/command.h"
#include "source/rt/io_engine.h"
#include "source/rt/reactor.h"
#include "source/rt/task_group.h"
#include "test/admin/fake_control.h"

namespace admin {

class StillEngine final : public rt::IoEngine {
 public:
  void prepare(rt::Op&) override { CHECK(false); }
  void cancel(rt::Op&) override {}
  void ring(base::ShardId) override {}
  size_t enter(base::MonoTime, rt::OpList&) override { return 0; }
  base::MonoTime monotonic() override { return base::MonoTime{1}; }
  base::UnixSeconds wall() override { return base::UnixSeconds{1700000100}; }
  void provideReceiveBuffers(std::byte*, uint32_t, uint32_t) override {}
  void recycle(uint16_t) override {}
  bool registerRegion(std::span<std::byte>) override { return false; }
  const rt::IoStats& stats() const override { return stats_; }

 private:
  rt::IoStats stats_;
};

// Commands against a FakeControl, without sockets.
class Desk {
 public:
  Reply ask(std::string method, std::string path, std::string query = "", std::string form = "") {
    Request request;
    request.method = method;
    request.path = path;
    request.query = query;
    request.form = form;
    return ask(request);
  }
  Reply ask(Request request) {
    Reply reply;
    rt::TaskGroup group(reactor, 1);
    group.spawn(store(context, request, reply));
    while (group.size() > 0) {
      reactor.runTurn(false);
    }
    return reply;
  }
  Reply get(std::string path, std::string query = "") { return ask("GET", path, query); }
  Reply post(std::string path, std::string query = "") { return ask("POST", path, query); }

  StillEngine engine;
  rt::Reactor reactor{engine};
  rt::TaskGroup background{reactor, 1};
  FakeControl control;
  Context context{reactor, control, background, {}, {}};

 private:
  static rt::Task<void> store(Context& context, Request request, Reply& reply) {
    reply = co_await dispatch(context, request);
  }
};

}  // namespace admin
