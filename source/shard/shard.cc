#include "source/shard/shard.h"

#include <algorithm>
#include <utility>

#include "source/upstream/from_config.h"

namespace shard {
namespace {

constexpr uint32_t kServing = 4096;  // calls of the control thread at once; it makes far fewer

}  // namespace

Shard::Shard(const ShardOptions& options, rt::IoEngine& engine, rt::Mesh& mesh,
             net::SocketFactory& sockets,
             const std::vector<std::unique_ptr<cache::CacheShared>>& caches)
    : options_(options),
      reactor_(engine, options.busy_poll),
      mesh_(mesh),
      peers_(reactor_, mesh, options.id),
      receive_(engine, options.receive_buffers),
      buffers_(options.buffer_pool_bytes),
      random_(options.seed),
      disk_log_(reactor_, caches_, options.log),
      reader_(reactor_, buffers_, options.disk_reads, &disk_log_),
      access_log_(reactor_),
      sockets_(sockets),
      clusters_(upstream::Context{reactor_, receive_, sockets, random_, {}}, options.shards),
      context_{reactor_, receive_,    buffers_, sockets, clusters_,
               config_,  access_log_, stats_,   date_,   options.id},
      origin_(context_),
      connections_(options.max_connections, &mesh.load(options.id)),
      sessions_(reactor_, UINT32_MAX, session_scope_),
      serving_(reactor_, kServing),
      handing_over_(options.shards),
      loads_(options.shards) {
  CHECK(buffers_.ok());
  started_at_ = reactor_.now();
  buffers_.setRegistered(engine.registerRegion(buffers_.region()));
  for (uint16_t i = 0; i < caches.size(); i++) {
    caches_.push_back(std::make_unique<cache::ShardCache>(services(), *caches[i], i));
  }
  calls_ = std::make_unique<cache::CallServer>(peers_, caches_);
  peers_.serve(verb(Verb::apply_config), &serve<ApplyConfig, &Shard::applyConfig>, this);
  peers_.serve(verb(Verb::set_endpoints), &serve<SetEndpoints, &Shard::setEndpoints>, this);
  peers_.serve(verb(Verb::collect_stats), &serve<CollectStats, &Shard::collectStats>, this);
  peers_.serve(verb(Verb::drain), &serve<Drain, &Shard::drain>, this);
  peers_.serve(verb(Verb::stop), &serve<Stop, &Shard::stop>, this);
  peers_.serve(verb(Verb::lookup), &serve<LookupObject, &Shard::lookup>, this);
  peers_.serve(verb(Verb::attach_disk), &serve<AttachDisk, &Shard::attachDisk>, this);
  peers_.serve(verb(Verb::detach_disk), &serve<DetachDisk, &Shard::detachDisk>, this);
  peers_.serve(verb(Verb::take_connection), &Shard::serveTakeConnection, this);
}

cache::StripeServices Shard::services() {
  cache::StripeServices services;
  services.reactor = &reactor_;
  services.peers = &peers_;
  services.pool = &buffers_;
  services.reader = &reader_;
  services.disk_events = &disk_log_;
  services.origin = &origin_;
  return services;
}

Shard::~Shard() {
  CHECK(stopped_);
}

rt::Task<void> Shard::start() {
  const base::MonoTime deadline = reactor_.now() + kStartPatience_ns;
  for (const std::unique_ptr<cache::ShardCache>& cache : caches_) {
    cache->start();
  }
  for (const std::unique_ptr<cache::ShardCache>& cache : caches_) {
    co_await cache->awaitRecovery(deadline);
  }
  access_log_.start();
  started_ = true;
  start_.wakeAll();
}

rt::Task<void> Shard::awaitStart() {
  rt::CancelScope never;
  while (!started_) {
    co_await start_.wait(never);
  }
}

// Calls.

template <class Call, rt::Task<void> (Shard::*kServe)(Call*)>
void Shard::serve(void* context, rt::CallHeader& call) {
  auto& self = *static_cast<Shard*>(context);
  const bool spawned =
      self.serving_.spawn(self.serveAndReply<Call, kServe>(static_cast<Call*>(&call)));
  CHECK(spawned);
}

template <class Call, rt::Task<void> (Shard::*kServe)(Call*)>
rt::Task<void> Shard::serveAndReply(Call* call) {
  co_await (this->*kServe)(call);
  const bool last = stopped_;
  peers_.reply(*call);
  if (last) {
    reactor_.stop();
  }
}

rt::Task<void> Shard::applyConfig(ApplyConfig* call) {
  co_await awaitStart();
  std::vector<cache::ShardCache*> caches;
  for (const CacheUse& use : call->caches) {
    cache::ShardCache& cache = *caches_[use.cache];
    cache.use(*use.disks);
    cache.setLimits(use.limits);
    cache.setScrubRate(call->snapshot->caches[caches.size()].scrub_bytes_per_second);
    caches.push_back(&cache);
  }
  config_.set(call->snapshot, std::move(caches));
  access_log_.setFile(call->access_log_fd);
  clusters_.update(upstream::fromConfig(call->snapshot->clusters));
  std::vector<int> gone;
  for (const auto& [fd, listening] : listening_) {
    const bool stays = std::any_of(call->sockets.begin(), call->sockets.end(),
                                   [fd = fd](const ListenerSocket& s) { return s.fd == fd; });
    if (!stays) {
      gone.push_back(fd);
    }
  }
  for (const ListenerSocket& socket : call->sockets) {
    if (!listening_.contains(socket.fd)) {
      listen(socket);
    }
  }
  applyBalancing(*call->snapshot);
  for (const int fd : gone) {
    const std::string name = listening_.at(fd)->name;
    co_await unlisten(fd);
    const bool still_there =
        std::any_of(call->snapshot->listeners.begin(), call->snapshot->listeners.end(),
                    [&name](const config::ListenerConfig& l) { return l.name == name; });
    if (!still_there) {
      drainSessions(name);
    }
  }
  if (config_.retained() == 0) {
    clusters_.releaseRetired();
  }
}

Shard::Listening::Listening(Shard& s, std::string listener, int f)
    : shard(s),
      name(std::move(listener)),
      fd(f),
      acceptor(f, s.sockets_, s.connections_, *this),
      task(s.reactor_, 1) {}

bool Shard::Listening::accepted(int fd, net::ConnectionSlot slot) {
  const uint16_t to = balances ? shard.shardFor(*this) : base::index(shard.options_.id);
  if (to != base::index(shard.options_.id)) {
    return shard.sessions_.spawn(shard.handOver(fd, std::move(slot), name, to));
  }
  return shard.sessions_.spawn(shard.runSession(fd, std::move(slot), name));
}

void Shard::listen(const ListenerSocket& socket) {
  auto listening = std::make_unique<Listening>(*this, socket.listener, socket.fd);
  const bool spawned = listening->task.spawn(listening->acceptor.run(listening->scope));
  CHECK(spawned);
  listening_.emplace(socket.fd, std::move(listening));
}

rt::Task<void> Shard::unlisten(int fd) {
  Listening& listening = *listening_.at(fd);
  listening.scope.request();
  co_await listening.task.join();
  rt::CancelScope drain_scope;
  co_await listening.acceptor.drain(drain_scope);
  net::AcceptorStats& closed = closed_acceptors_[listening.name];
  closed.accepted += listening.acceptor.stats().accepted;
  listening_.erase(fd);
}

rt::Task<void> Shard::runSession(int fd, net::ConnectionSlot slot, std::string listener) {
  net::Stream stream(receive_, sockets_, fd, base::Blame::downstream);
  proxy::Session session(context_, scratch_, std::move(stream), std::move(slot), listener,
                         ++next_connection_, session_scope_);
  open_sessions_.pushBack(&session);
  co_await session.run();
  session.unlink();
}

void Shard::drainSessions(std::string_view listener) {
  proxy::Session* next = nullptr;
  for (proxy::Session* session = open_sessions_.front(); session != nullptr; session = next) {
    next = open_sessions_.next(session);
    if (listener.empty() || session->listener() == listener) {
      session->drain();  // wakes it at most; it runs later
    }
  }
}

rt::Task<void> Shard::setEndpoints(SetEndpoints* call) {
  clusters_.setEndpoints(call->cluster, call->endpoints);
  co_return;
}

rt::Task<void> Shard::drain(Drain* call) {
  std::vector<int> fds;
  for (const auto& [fd, listening] : listening_) {
    fds.push_back(fd);
  }
  for (const int fd : fds) {
    co_await unlisten(fd);
  }
  if (!call->keep_connections) {
    context_.draining = true;
    drainSessions({});
    rt::CancelScope never;
    while (sessions_.size() > 0 && reactor_.now().ns < call->deadline_ns) {
      co_await rt::Sleep(reactor_.now() + 10 * base::kMillisecond_ns, never);
    }
  }
  call->open = sessions_.size();
}

rt::Task<void> Shard::stop(Stop* call) {
  co_await awaitStart();
  if (call->phase == 1) {
    Drain now;
    co_await drain(&now);
    for (const std::unique_ptr<cache::ShardCache>& cache : caches_) {
      if (cache != nullptr) {
        cache->endFills();  // sessions, here and elsewhere, may wait for them
      }
    }
    session_scope_.request();
    co_await sessions_.join();
    co_return;
  }
  const base::MonoTime deadline = reactor_.now() + kStopPatience_ns;
  for (const std::unique_ptr<cache::ShardCache>& cache : caches_) {
    if (cache != nullptr) {
      cache->beginStop();
    }
  }
  for (const std::unique_ptr<cache::ShardCache>& cache : caches_) {
    if (cache != nullptr) {
      call->stripes_hung += co_await cache->stop(deadline);
      call->invalidations_lost += cache->invalidationsLost();
    }
  }
  if (call->stripes_hung > 0) {
    co_return;
  }
  co_await reader_.stop();
  co_await clusters_.shutdown();
  co_await access_log_.stop();
  stopped_ = true;
}

namespace {

constexpr uint64_t kAskReady_ns = base::kMillisecond_ns;

// Until a disk's stripes can store, or the deadline: an empty disk takes some milliseconds, in
// which what goes there would not be stored. Nobody takes the stripes away meanwhile.
rt::Task<void> awaitReady(rt::Reactor& reactor, cache::ShardCache& cache, cache::StripeRange range,
                          base::MonoTime deadline) {
  rt::CancelScope never;
  for (uint16_t i = range.first; i < range.first + range.count; i++) {
    cache::Stripe* stripe = cache.owned(base::StripeId{i});
    while (stripe != nullptr && !stripe->store().ready() && reactor.now() < deadline) {
      co_await rt::Sleep(reactor.now() + kAskReady_ns, never);
    }
  }
}

}  // namespace

rt::Task<void> Shard::attachDisk(AttachDisk* call) {
  co_await awaitStart();
  if (caches_.size() <= call->cache) {
    caches_.resize(call->cache + 1);
  }
  std::unique_ptr<cache::ShardCache>& cache = caches_[call->cache];
  if (cache == nullptr) {
    cache = std::make_unique<cache::ShardCache>(services(), *call->shared, call->cache,
                                                cache::ShardCache::Begin::empty);
  }
  cache->use(*call->disks);
  if (call->disk != nullptr) {
    cache->attach(*call->disk);
    co_await awaitReady(reactor_, *cache, call->disk->stripes(),
                        reactor_.now() + kStartPatience_ns);
  }
}

rt::Task<void> Shard::detachDisk(DetachDisk* call) {
  co_await awaitStart();
  if (call->cache >= caches_.size() || caches_[call->cache] == nullptr) {
    co_return;  // it never came as far as here
  }
  co_await caches_[call->cache]->detach(call->stripes);
  if (call->whole_cache) {
    caches_[call->cache].reset();
  }
}

rt::Task<void> Shard::lookup(LookupObject* call) {
  cache::ShardCache& cache = *caches_[call->cache];
  cache::Keys keys;
  keys.primary = call->key;
  keys.by_path = call->by_path;
  cache.locate(keys);
  cache::Reader reader;
  rt::CancelScope never;
  const cache::LookupResult result = co_await cache.lookup(
      keys, *call->request, reader, never, reactor_.now() + store::kDiskPatience_ns);
  call->found = result.found;
  call->stale_now = result.stale_now;
  call->entry = result.entry.value_or(store::Entry{});
  call->stored_key = keys.key();
  call->search = keys.search.has_value() ? keys.search->names : std::string();
  call->vary = keys.rule.has_value() ? keys.rule->names : std::string();
  if (result.found == cache::Found::object) {
    call->in_memory = reader.source() == cache::Reader::Source::memory;
    call->large = reader.source() == cache::Reader::Source::extents;
    call->block_bytes = reader.slices().has_value() ? reader.slices()->layout.block_bytes : 0;
    call->status = reader.head().status;
    call->head = reader.head().text;
    call->times = reader.head().times;
    call->traits = reader.head().traits;
    call->length = reader.length();
  }
  co_await reader.close();
}

}  // namespace shard
