// Connections handed over to the shard with the fewest, when they are accepted.
#include <algorithm>
#include <utility>

#include "source/net/balance.h"
#include "source/shard/shard.h"

namespace shard {

void Shard::applyBalancing(const config::Snapshot& snapshot) {
  for (const auto& [fd, listening] : listening_) {
    const auto found = std::find_if(
        snapshot.listeners.begin(), snapshot.listeners.end(),
        [&](const config::ListenerConfig& listener) { return listener.name == listening->name; });
    listening->balances = found != snapshot.listeners.end() && found->balance_connections;
  }
}

// Connections on their way are still counted here, and not yet there.
uint16_t Shard::shardFor(const Listening& listening) {
  const uint16_t self = base::index(options_.id);
  uint32_t leaving = 0;
  for (uint16_t i = 0; i < options_.shards; i++) {
    loads_[i] = mesh_.load(base::ShardId{i}).get() + handing_over_[i];
    leaving += handing_over_[i];
  }
  loads_[self] = connections_.open() - std::min(connections_.open(), leaving);
  return listening.scope.requested() ? self : net::chooseShard(self, loads_);
}

Shard::Listening* Shard::listeningAs(std::string_view listener) {
  for (const auto& [fd, listening] : listening_) {
    if (listening->name == listener) {
      return listening.get();
    }
  }
  return nullptr;
}

rt::Task<void> Shard::handOver(int fd, net::ConnectionSlot slot, std::string listener,
                               uint16_t to) {
  TakeConnection call;
  call.listener = listener;
  call.fd = fd;
  handing_over_[to]++;
  co_await peers_.call(base::ShardId{to}, call);
  handing_over_[to]--;
  if (Listening* listening = listeningAs(listener); listening != nullptr) {
    net::AcceptorStats& stats = listening->acceptor.counters();
    (call.taken ? stats.moved_out : stats.move_refused)++;
  }
  if (!call.taken) {
    co_await runSession(fd, std::move(slot), std::move(listener));
  }
}

// Not a task: there may be as many of these at once as there are connections.
void Shard::serveTakeConnection(void* context, rt::CallHeader& header) {
  auto& self = *static_cast<Shard*>(context);
  auto& call = static_cast<TakeConnection&>(header);
  call.taken = self.takeConnection(call);
  self.peers_.reply(call);
}

// Refused while this shard stops: whoever accepted it ends it in order.
bool Shard::takeConnection(const TakeConnection& call) {
  Listening* listening = listeningAs(call.listener);
  if (listening == nullptr || listening->scope.requested() || session_scope_.requested() ||
      !connections_.hasRoom()) {
    return false;
  }
  const bool taken =
      sessions_.spawn(runSession(call.fd, connections_.enter(), std::string(call.listener)));
  listening->acceptor.counters().moved_in += taken ? 1 : 0;
  return taken;
}

}  // namespace shard
