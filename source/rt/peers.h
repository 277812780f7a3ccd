// Typed calls between shards. A call's request and reply live in the caller's frame; only its
// address crosses. The callee may read the request and write the reply until it replies, and
// nothing after.
//
// Rules: calls form a DAG (session to stripe, control to shard): a stripe's handler never calls
// another stripe. At most kCallsPerPeer calls are in flight to one peer, so a ring never overflows;
// more wait.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "source/base/types.h"
#include "source/rt/credits.h"
#include "source/rt/peer_link.h"
#include "source/rt/reactor.h"
#include "source/rt/task.h"

namespace rt {

// What a call is; the values are given by the layers above, one enum for all (shard/verbs.h).
using Verb = uint16_t;
inline constexpr Verb kVerbs = 32;

struct CallHeader {
  Verb verb = 0;
  bool is_reply = false;
  base::ShardId from{};
  Runnable* caller = nullptr;
  uint64_t sent_ns = 0;
};

// All links between `shards` shards (the control thread counts as one). Made before the threads
// start.
class Mesh {
 public:
  explicit Mesh(uint16_t shards);
  uint16_t size() const { return shards_; }
  PeerLink& link(base::ShardId from, base::ShardId to) {
    return links_[size_t{base::index(from)} * shards_ + base::index(to)];
  }
  ParkedFlag& parked(base::ShardId shard) { return parked_[base::index(shard)]; }

 private:
  uint16_t shards_;
  std::unique_ptr<PeerLink[]> links_;
  std::unique_ptr<ParkedFlag[]> parked_;
};

struct PeersStats {
  uint64_t calls_sent = 0;
  uint64_t calls_served = 0;
  uint64_t calls_waited = 0;  // calls that found their peer's credits used up
};

// One shard's end of the mesh.
class Peers {
 public:
  static constexpr uint32_t kCallsPerPeer = 256;
  static constexpr uint32_t kDrainQuota = 128;  // messages taken from one peer in a turn

  Peers(Reactor& reactor, Mesh& mesh, base::ShardId self);
  ~Peers();

  base::ShardId self() const { return self_; }
  uint16_t size() const { return mesh_.size(); }
  const PeersStats& stats() const { return stats_; }

  // Calls of this kind go to `handler(context, call)`, which sees to it that reply() is called
  // once.
  using Handler = void (*)(void* context, CallHeader& call);
  void serve(Verb verb, Handler handler, void* context) { handlers_[verb] = {handler, context}; }

  // Sends `call` (a struct derived from CallHeader, with its verb set) and waits for the reply.
  // Cannot be cancelled: a caller that gives up says so with another call, and still waits for this
  // one. Time from sending to reply, in nanoseconds, is what it returns.
  Task<uint64_t> call(base::ShardId to, CallHeader& call);
  // Ends a call that this shard was serving.
  void reply(CallHeader& call);

  // For the reactor. drain: true if there was anything. park: false if something arrived meanwhile.
  bool drain();
  bool park();
  void unpark();

 private:
  struct Entry {
    Handler handler = nullptr;
    void* context = nullptr;
  };
  // Suspends the caller, then sends.
  struct Sent {
    Peers& peers;
    base::ShardId to;
    CallHeader& call;
    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> handle) {
      call.caller = &handle.promise();
      peers.send(to, call);
    }
    void await_resume() {}
  };
  void send(base::ShardId to, CallHeader& call);
  void serveOne(CallHeader& call);

  Reactor& reactor_;
  Mesh& mesh_;
  base::ShardId self_;
  std::array<Entry, kVerbs> handlers_{};
  std::vector<std::unique_ptr<Credits>> credits_;
  PeersStats stats_;
};

}  // namespace rt
