// Purges and invalidations in a stripe: what goes from the index and the journal, and what fills
// that run bring in vain.
#include <algorithm>
#include <string>
#include <utility>

#include "source/cache/stripe.h"

namespace cache {
namespace {

// Calls that wait inside a stripe: bounded by what its peers can have in flight.
constexpr uint32_t kMaxServing = 1 << 20;

}  // namespace

// A purge, which may outlive the call that asked for it.
struct Stripe::PurgeWork {
  uint64_t number = 0;
  bool everything = false;
  bool soft = false;
  bool by_path = false;
  base::Hash128 hash;
  std::string key;
  std::optional<store::Selector> selector;
  uint64_t purged = 0;
  base::Error error;
  bool done = false;
  bool left = false;  // nobody waits any more
  rt::WaitQueue end;
};

Stripe::Stripe(const StripeServices& services, const CacheShared& shared, base::StripeId id)
    : services_(services),
      shared_(shared),
      id_(id),
      stripe_shared_(*shared.stripes[base::index(id)]),
      store_(*services.reactor, *services.reader, stripe_shared_, services.disk_events),
      recovery_(*services.reactor, 1),
      tasks_(*services.reactor, kMaxFills),
      serving_(*services.reactor, kMaxServing),
      admission_(shared.admission.admitsAll()
                     ? nullptr
                     : std::make_unique<store::Admission>(shared.admission)) {}

Stripe::~Stripe() {
  CHECK(fills_.empty());
}

// What is being kept, or will be kept, of a response that came before this is not.
void Stripe::beginEpoch() {
  epoch_++;
  for (bool* doomed : keeping_) {
    *doomed = true;
  }
}

void Stripe::purgeFills(const PurgeCall& call) {
  if (call.selector == nullptr && !call.everything) {
    return purgeFillsOf(call.key);
  }
  beginEpoch();
  for (const auto& [number, fill] : fills_) {
    if (call.everything || fill->selectedBy(*call.selector)) {
      stats_.fills_purged++;
      fill->purge();
    }
  }
  if (call.selector != nullptr) {
    rememberPurge(call.selector->label);
  }
}

void Stripe::purgeFillsOf(std::string_view primary_key) {
  beginEpoch();
  for (const auto& [number, fill] : fills_) {
    if (fill->concernedBy(primary_key)) {
      stats_.fills_purged++;
      fill->purge();
    }
  }
}

void Stripe::rememberPurge(store::Label label) {
  const uint64_t oldest = fills_.empty() ? UINT64_MAX : fills_.begin()->first;
  std::erase_if(recent_, [oldest](const RecentPurge& purge) { return purge.last_fill < oldest; });
  if (fills_.empty()) {
    return;
  }
  if (recent_.size() >= kRecentPurges) {
    for (const auto& [number, fill] : fills_) {
      stats_.fills_purged++;
      fill->purge();
    }
    recent_.clear();
    return;
  }
  recent_.push_back(RecentPurge{label, fill_number_});
}

bool Stripe::purgedSince(uint64_t fill, std::span<const store::Label> labels) const {
  return std::any_of(recent_.begin(), recent_.end(), [&](const RecentPurge& purge) {
    return fill <= purge.last_fill && store::hasLabel(labels, purge.label);
  });
}

void Stripe::purge(PurgeCall& call) {
  if (stopping_) {
    return services_.peers->reply(call);  // its disk leaves: what is on it will be given up
  }
  spawn(servePurge(&call));
}

rt::Task<void> Stripe::servePurge(PurgeCall* call) {
  stats_.purges++;
  const base::MonoTime deadline = services_.reactor->now() + call->patience_ns;
  co_await awaitRecovery(call->patience_ns);
  if (purging_.size() >= kMaxPurges) {
    stats_.purges_refused++;
    call->in_force = false;
    call->error = base::Error{base::Code::no_capacity, base::Blame::disk};
    services_.peers->reply(*call);
    co_return;
  }
  purgeFills(*call);
  PurgeWork& work = *purging_.emplace(++purge_number_, std::make_unique<PurgeWork>()).first->second;
  work.number = purge_number_;
  work.everything = call->everything;
  work.soft = call->soft;
  work.by_path = call->by_path;
  work.hash = call->hash;
  work.key = call->key;
  if (call->selector != nullptr) {
    work.selector = *call->selector;
  }
  spawn(runPurge(&work));
  rt::CancelScope never;
  auto how = rt::WaitQueue::Woken::by_wake;
  while (!work.done && how == rt::WaitQueue::Woken::by_wake) {
    how = co_await work.end.wait(never, deadline);
  }
  call->purged = work.purged;
  call->error = work.error;
  if (work.done) {
    purging_.erase(work.number);
  } else {
    // The kernel has memory of its; so it goes on, and is durable one day.
    stats_.purges_late++;
    work.left = true;
    if (work.selector.has_value()) {
      store_.dropUnwalked();
    }
    call->error = base::Error{base::Code::timeout, base::Blame::disk};
  }
  services_.peers->reply(*call);
}

rt::Task<void> Stripe::runPurge(PurgeWork* work) {
  rt::CancelScope never;
  if (work->everything) {
    variants_.clear();
    variant_count_ = 0;
    base::Result<uint64_t> done = co_await store_.purgeAll(never);
    work->purged = done.ok() ? done.value() : 0;
    work->error = done.ok() ? base::Error{} : done.error();
    tryOn(done, store::PurgeKind::everything, false, {});
  } else if (work->selector.has_value()) {
    if (!store_.ready()) {
      store_.dropAllAtRecovery();  // nobody can say yet what it selects
    }
    const store::Selector selector = *work->selector;
    base::Result<uint64_t> done = co_await store_.purgeSelected(selector, work->soft, never);
    work->purged = done.ok() ? done.value() : 0;
    work->error = done.ok() ? base::Error{} : done.error();
    tryOn(done, store::PurgeKind::label, work->soft, base::Hash128{0, selector.label});
  } else {
    co_await purgeKey(work);
  }
  work->done = true;
  if (work->left) {
    purging_.erase(work->number);
  } else {
    work->end.wakeAll();
  }
}

// Where No-Vary-Search is heeded, the URL may also be answered by what its path's rule makes of it.
rt::Task<void> Stripe::purgeKey(PurgeWork* work) {
  co_await purgeOne(work, work->key);
  const std::string rule_key = searchRuleKey(work->key);
  const base::Hash128 rule_hash = shared_.hash(rule_key);
  if (!work->by_path || !index().find(rule_hash).has_value()) {
    co_return;
  }
  const std::optional<VaryRule> rule = co_await readRule(rule_hash, rule_key);
  if (rule.has_value()) {
    const std::string key = searchKey(*rule, work->key);
    co_await purgeOne(work, key);
    co_return;
  }
  // A rule that cannot be read goes, and nothing that was stored under it is found again.
  rt::CancelScope never;
  base::Result<uint64_t> done = co_await store_.purge(rule_hash, false, never);
  tryOn(done, store::PurgeKind::key, false, rule_hash);
  work->error = done.ok() ? work->error : done.error();
}

rt::Task<std::optional<VaryRule>> Stripe::readRule(base::Hash128 hash, std::string_view key) {
  rt::CancelScope never;
  std::optional<store::Entry> entry = index().find(hash);
  if (entry.has_value() && entry->inBuffer() && co_await log().flush(patience())) {
    entry = index().find(hash);
  }
  if (!entry.has_value() || entry->kind() != store::EntryKind::vary_rule || entry->inBuffer()) {
    co_return std::nullopt;
  }
  base::Result<store::RecordRef> read =
      co_await reader().read(recordFile(), table().locate(*entry), never, patience());
  if (!read.ok() || !read.value().record().isFor(hash, key)) {
    co_return std::nullopt;
  }
  co_return decodeVaryRule(read.value().record().meta);
}

// A key with variants is purged with them: softly, each becomes stale and the rule stays; else, or
// when it is not known which there are, the rule goes, and nothing that was stored under it can be
// found any more.
rt::Task<void> Stripe::purgeOne(PurgeWork* work, std::string_view key) {
  rt::CancelScope never;
  const base::Hash128 hash = shared_.hash(key);
  const std::optional<store::Entry> entry = index().find(hash);
  const bool varies = entry.has_value() && entry->kind() == store::EntryKind::vary_rule;
  const auto known = variants_.find(hash);
  if (varies && work->soft && known != variants_.end()) {
    const std::vector<base::Hash128> variants = known->second;
    for (const base::Hash128& variant : variants) {
      base::Result<uint64_t> done = co_await store_.purge(variant, true, never);
      tryOn(done, store::PurgeKind::key, true, variant);
      work->purged += done.ok() ? done.value() : 0;
      work->error = done.ok() ? work->error : done.error();
    }
    co_return;
  }
  const uint64_t variants = eraseVariants(hash);
  base::Result<uint64_t> done = co_await store_.purge(hash, work->soft && !varies, never);
  tryOn(done, store::PurgeKind::key, work->soft && !varies, hash);
  work->purged += !done.ok() ? 0 : variants > 0 ? variants : done.value();
  work->error = done.ok() ? work->error : done.error();
  // First bytes of it are no object, and go with a hard purge; a soft one leaves them to be
  // completed, which validates them.
  const base::Hash128 partial = shared_.hash(std::string(key).append(kPartialMark));
  if (!work->soft && index().find(partial).has_value()) {
    done = co_await store_.purge(partial, false, never);
    tryOn(done, store::PurgeKind::key, false, partial);
    work->error = done.ok() ? work->error : done.error();
  }
}

void Stripe::invalidate(InvalidateCall& call) {
  if (call.only.has_value()) {
    eraseIf(call.hash, *call.only);
    return services_.peers->reply(call);
  }
  stats_.invalidations++;
  purgeFillsOf(call.key);
  call.epoch = epoch_;
  eraseVariants(call.hash);
  index().erase(shared_.hash(std::string(call.key).append(kPartialMark)));
  const std::optional<store::Entry> entry = index().erase(call.hash);
  call.found = entry.has_value() && entry->placed();
  if (!store_.ready()) {
    store_.dropAtRecovery(call.hash);
  } else if (call.found) {
    makeDurable(store::PurgeKind::key, false, call.hash);
  }
  services_.peers->reply(call);
}

// The answer to a purge that is not durable is an error, and it becomes durable all the same once
// the disk lets it.
void Stripe::tryOn(const base::Result<uint64_t>& purge, store::PurgeKind kind, bool soft,
                   base::Hash128 hash) {
  if (!purge.ok() && store_.ready()) {
    makeDurable(kind, soft, hash);
  }
}

// One append after the other, so that a disk that hangs piles up notes and not tasks.
void Stripe::makeDurable(store::PurgeKind kind, bool soft, base::Hash128 hash) {
  const store::LogPosition before = store_.log().position();
  if (not_durable_.size() < kMaxNotDurable) {
    not_durable_.push_back(store::Erased{kind, soft, hash, before});
  } else {
    stats_.invalidations_widened++;
    not_durable_.erase(not_durable_.begin() + static_cast<ptrdiff_t>(writing_), not_durable_.end());
    not_durable_.push_back(store::Erased{store::PurgeKind::everything, false, {}, before});
  }
  if (!writer_runs_ && !stopping_) {
    writer_runs_ = true;
    spawn(writeInvalidations());
  }
}

// What the disk does not take is tried again until it does, or the stripe stops.
rt::Task<void> Stripe::writeInvalidations() {
  rt::CancelScope never;
  uint64_t pause_ns = kRecoverAgain_ns;
  while (!not_durable_.empty()) {
    writing_ = std::min<size_t>(not_durable_.size(), store::StripeStore::kJournalBatch);
    const auto end = not_durable_.begin() + static_cast<ptrdiff_t>(writing_);
    std::vector<store::Erased> batch(not_durable_.begin(), end);
    base::Status written =
        co_await store_.recordErased(std::move(batch), store::IfNotByKey::fail, never);
    const size_t done = written.ok() ? writing_ : 0;
    not_durable_.erase(not_durable_.begin(), not_durable_.begin() + static_cast<ptrdiff_t>(done));
    writing_ = 0;
    if (written.ok()) {
      pause_ns = kRecoverAgain_ns;
      continue;
    }
    if (!co_await rt::Sleep(services_.reactor->now() + pause_ns, serving_.scope())) {
      break;
    }
    pause_ns = std::min(2 * pause_ns, kRecoverAgainMost_ns);
  }
  writer_runs_ = false;
}

// What was dropped while the store was not ready is to be as durable as what came later.
rt::Task<void> Stripe::useRecovered(rt::CancelScope& scope) {
  const std::vector<store::Erased> left = co_await store_.purgeDropped(scope);
  for (const store::Erased& erased : left) {
    makeDurable(erased.kind, erased.soft, erased.hash);
  }
}

// The last chance: nobody remembers afterwards. First key by key; at worst the next start is to
// forget all that the stripe holds, and if not even that can be written, somebody must know.
rt::Task<void> Stripe::saveInvalidations() {
  rt::CancelScope never;
  base::Status saved = base::Unit{};
  for (uint32_t attempt = 1; notDurable() > 0 && attempt <= kSaveAttempts; attempt++) {
    if (attempt > 1) {
      static_cast<void>(co_await rt::Sleep(services_.reactor->now() + kSaveAgain_ns, never));
    }
    const auto otherwise =
        attempt <= kSaveAttempts / 2 ? store::IfNotByKey::fail : store::IfNotByKey::give_stripe_up;
    if (store_.ready()) {
      std::vector<store::Erased> all(not_durable_.begin(), not_durable_.end());
      saved = co_await store_.recordErased(std::move(all), otherwise, never);
    } else {
      saved = co_await store_.saveDropped(otherwise, never);
    }
    if (saved.ok()) {
      not_durable_.clear();
      co_return;
    }
  }
  stats_.invalidations_lost += notDurable();
  if (notDurable() > 0 && services_.disk_events != nullptr) {
    const store::StripeFiles& files = stripe_shared_.files;
    services_.disk_events->invalidationsLost(files.disk, files.superblock.stripe, notDurable(),
                                             saved.error());
  }
}

}  // namespace cache
