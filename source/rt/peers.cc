#include "source/rt/peers.h"

#include "source/base/check.h"

namespace rt {

Mesh::Mesh(uint16_t shards)
    : shards_(shards),
      links_(std::make_unique<PeerLink[]>(size_t{shards} * shards)),
      parked_(std::make_unique<ParkedFlag[]>(shards)) {}

Peers::Peers(Reactor& reactor, Mesh& mesh, base::ShardId self)
    : reactor_(reactor), mesh_(mesh), self_(self) {
  for (uint16_t i = 0; i < mesh.size(); i++) {
    credits_.push_back(std::make_unique<Credits>(kCallsPerPeer));
  }
  reactor_.attachPeers(this);
}

Peers::~Peers() {
  reactor_.attachPeers(nullptr);
}

Task<uint64_t> Peers::call(base::ShardId to, CallHeader& call) {
  const uint64_t begun_ns = reactor_.engine().monotonic().ns;
  call.from = self_;
  call.is_reply = false;
  call.sent_ns = begun_ns;
  stats_.calls_sent++;
  Credits& credits = *credits_[base::index(to)];
  if (!credits.tryAcquire(1)) {
    stats_.calls_waited++;
    CancelScope never;
    base::Status taken = co_await credits.acquire(1, never);
    CHECK(taken.ok());
  }
  co_await Sent{*this, to, call};
  credits.release(1);
  co_return reactor_.engine().monotonic().ns - begun_ns;
}

void Peers::send(base::ShardId to, CallHeader& call) {
  if (to == self_) {
    serveOne(call);
    return;
  }
  const bool pushed = mesh_.link(self_, to).push(&call);
  CHECK(pushed);  // credits keep calls and replies below the number of slots
  if (mesh_.parked(to).parked.load(std::memory_order_seq_cst)) {
    reactor_.engine().ring(to);
  }
}

void Peers::reply(CallHeader& call) {
  if (call.from == self_) {
    reactor_.ready(*call.caller);
    return;
  }
  call.is_reply = true;
  send(call.from, call);
}

void Peers::serveOne(CallHeader& call) {
  stats_.calls_served++;
  CHECK(call.verb < kVerbs);
  const Entry& entry = handlers_[call.verb];
  CHECK(entry.handler != nullptr);
  entry.handler(entry.context, call);
}

bool Peers::drain() {
  bool any = false;
  for (uint16_t from = 0; from < mesh_.size(); from++) {
    if (from == base::index(self_)) {
      continue;
    }
    PeerLink& link = mesh_.link(base::ShardId{from}, self_);
    for (uint32_t quota = kDrainQuota; quota > 0; quota--) {
      CallHeader* call = link.pop();
      if (call == nullptr) {
        break;
      }
      any = true;
      if (call->is_reply) {
        reactor_.ready(*call->caller);
      } else {
        serveOne(*call);
      }
    }
  }
  return any;
}

bool Peers::park() {
  mesh_.parked(self_).parked.store(true, std::memory_order_seq_cst);
  for (uint16_t from = 0; from < mesh_.size(); from++) {
    if (from != base::index(self_) && !mesh_.link(base::ShardId{from}, self_).empty()) {
      unpark();
      return false;
    }
  }
  return true;
}

void Peers::unpark() {
  std::atomic<bool>& parked = mesh_.parked(self_).parked;
  if (parked.load(
          std::memory_order_relaxed)) {  // a busy shard does not write to the line its peers read
    parked.store(false, std::memory_order_relaxed);
  }
}

}  // namespace rt
