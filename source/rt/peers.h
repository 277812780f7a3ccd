// Typed calls between shards. A call's request and reply live in the caller's frame; only its
// address crosses. The callee may read the request and write the reply until it replies, and
// nothing after.
//
// Rules: calls form a DAG (session to stripe, control to shard): a stripe's handler never calls
// another stripe. A call may take as long as it likes without being in the way of others. What
// finds its ring full waits in line at the sender, in the call itself, so there are never more of
// them than callers; the line moves on in the sender's next turns.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "source/base/types.h"
#include "source/rt/peer_link.h"
#include "source/rt/reactor.h"

namespace rt {

// What a call is; the values are given by the layers above, one enum for all (shard/verbs.h).
using Verb = uint16_t;
inline constexpr Verb kVerbs = 32;

struct CallHeader {
  Verb verb = 0;
  bool is_reply = false;
  base::ShardId from{};
  Runnable* caller = nullptr;
  CallHeader* next = nullptr;  // in line for a ring
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
  ShardLoad& load(base::ShardId shard) { return loads_[base::index(shard)]; }

 private:
  uint16_t shards_;
  std::unique_ptr<PeerLink[]> links_;
  std::unique_ptr<ParkedFlag[]> parked_;
  std::unique_ptr<ShardLoad[]> loads_;
};

struct PeersStats {
  uint64_t calls_sent = 0;
  uint64_t calls_served = 0;
  uint64_t waited = 0;  // calls and replies that found their ring full
};

// One shard's end of the mesh.
class Peers {
 public:
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

  // co_await peers.call(to, call): sends `call` (a struct derived from CallHeader, with its verb
  // set) and waits for the reply. Cannot be cancelled: a caller that gives up says so with another
  // call, and still waits for this one. Gives the time from sending to reply, in nanoseconds.
  class Sent;
  Sent call(base::ShardId to, CallHeader& call);
  // Ends a call that this shard was serving.
  void reply(CallHeader& call);

  // For the reactor. drain: true if there was anything. hasMessages: whether drain would find any.
  // park: false if something arrived meanwhile.
  bool drain();
  bool hasMessages() const;
  bool park();
  void unpark();

 private:
  struct Entry {
    Handler handler = nullptr;
    void* context = nullptr;
  };
  // Messages for one peer whose ring was full, oldest first.
  struct Line {
    CallHeader* first = nullptr;
    CallHeader* last = nullptr;
  };
  void begin(base::ShardId to, CallHeader& call, Runnable& caller);
  uint64_t sinceSent(const CallHeader& call) const;
  void send(base::ShardId to, CallHeader& call);
  bool push(base::ShardId to, CallHeader& call);
  bool moveLine(base::ShardId to);
  void serveOne(CallHeader& call);

  Reactor& reactor_;
  Mesh& mesh_;
  base::ShardId self_;
  std::array<Entry, kVerbs> handlers_{};
  std::vector<Line> lines_;  // by peer
  size_t in_line_ = 0;
  PeersStats stats_;
};

class Peers::Sent {
 public:
  Sent(Peers& peers, base::ShardId to, CallHeader& call) : peers_(peers), to_(to), call_(call) {}
  bool await_ready() const noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> handle) {
    peers_.begin(to_, call_, handle.promise());
  }
  uint64_t await_resume() const { return peers_.sinceSent(call_); }

 private:
  Peers& peers_;
  base::ShardId to_;
  CallHeader& call_;
};

inline Peers::Sent Peers::call(base::ShardId to, CallHeader& call) {
  return Sent(*this, to, call);
}

}  // namespace rt
