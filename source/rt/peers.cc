#include "source/rt/peers.h"

#include "source/base/check.h"

namespace rt {

Mesh::Mesh(uint16_t shards)
    : shards_(shards),
      links_(std::make_unique<PeerLink[]>(size_t{shards} * shards)),
      parked_(std::make_unique<ParkedFlag[]>(shards)),
      loads_(std::make_unique<ShardLoad[]>(shards)) {}

Peers::Peers(Reactor& reactor, Mesh& mesh, base::ShardId self)
    : reactor_(reactor), mesh_(mesh), self_(self), lines_(mesh.size()) {
  reactor_.attachPeers(this);
}

Peers::~Peers() {
  reactor_.attachPeers(nullptr);
}

void Peers::begin(base::ShardId to, CallHeader& call, Runnable& caller) {
  call.caller = &caller;
  call.from = self_;
  call.is_reply = false;
  call.sent_ns = reactor_.engine().monotonic().ns;
  stats_.calls_sent++;
  send(to, call);
}

uint64_t Peers::sinceSent(const CallHeader& call) const {
  return reactor_.engine().monotonic().ns - call.sent_ns;
}

void Peers::send(base::ShardId to, CallHeader& call) {
  if (to == self_) {
    serveOne(call);
    return;
  }
  Line& line = lines_[base::index(to)];
  if (line.first == nullptr && push(to, call)) {
    return;
  }
  call.next = nullptr;
  (line.last == nullptr ? line.first : line.last->next) = &call;
  line.last = &call;
  in_line_++;
  stats_.waited++;
}

bool Peers::push(base::ShardId to, CallHeader& call) {
  if (!mesh_.link(self_, to).push(&call)) {
    return false;
  }
  if (mesh_.parked(to).parked.load(std::memory_order_seq_cst)) {
    reactor_.engine().ring(to);
  }
  return true;
}

// Once it is in the ring a message is its receiver's: `next` is read before.
bool Peers::moveLine(base::ShardId to) {
  Line& line = lines_[base::index(to)];
  bool moved = false;
  while (line.first != nullptr) {
    CallHeader* first = line.first;
    CallHeader* next = first->next;
    if (!push(to, *first)) {
      break;
    }
    line.first = next;
    line.last = next == nullptr ? nullptr : line.last;
    in_line_--;
    moved = true;
  }
  return moved;
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
  for (uint16_t to = 0; in_line_ > 0 && to < mesh_.size(); to++) {
    any = moveLine(base::ShardId{to}) || any;
  }
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

bool Peers::hasMessages() const {
  if (in_line_ > 0) {
    return true;  // nobody says when there is room in a ring
  }
  for (uint16_t from = 0; from < mesh_.size(); from++) {
    if (from != base::index(self_) && !mesh_.link(base::ShardId{from}, self_).empty()) {
      return true;
    }
  }
  return false;
}

bool Peers::park() {
  mesh_.parked(self_).parked.store(true, std::memory_order_seq_cst);
  if (hasMessages()) {
    unpark();
    return false;
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
