// Purges and invalidations in a stripe: what goes from the index and the journal, and what fills
// that run bring in vain.
#include <algorithm>
#include <string>
#include <utility>

#include "source/cache/stripe.h"

namespace cache {

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
  co_await awaitRecovery();
  purgeFills(*call);
  rt::CancelScope never;
  if (call->everything) {
    variants_.clear();
    variant_count_ = 0;
    base::Result<uint64_t> done = co_await store_.purgeAll(never);
    call->purged = done.ok() ? done.value() : 0;
    call->error = done.ok() ? base::Error{} : done.error();
  } else if (call->selector != nullptr) {
    if (!store_.ready()) {
      store_.dropAllAtRecovery();  // nobody can say yet what it selects
    }
    base::Result<uint64_t> done = co_await store_.purgeSelected(*call->selector, call->soft, never);
    call->purged = done.ok() ? done.value() : 0;
    call->error = done.ok() ? base::Error{} : done.error();
  } else {
    co_await purgeKey(call);
  }
  services_.peers->reply(*call);
}

// Where No-Vary-Search is heeded, the URL may also be answered by what its path's rule makes of it.
rt::Task<void> Stripe::purgeKey(PurgeCall* call) {
  co_await purgeOne(call, call->key);
  const std::string rule_key = searchRuleKey(call->key);
  const base::Hash128 rule_hash = shared_.hash(rule_key);
  if (!call->by_path || !index().find(rule_hash).has_value()) {
    co_return;
  }
  const std::optional<VaryRule> rule = co_await readRule(rule_hash, rule_key);
  if (rule.has_value()) {
    const std::string key = searchKey(*rule, call->key);
    co_await purgeOne(call, key);
    co_return;
  }
  // A rule that cannot be read goes, and nothing that was stored under it is found again.
  rt::CancelScope never;
  base::Result<uint64_t> done = co_await store_.purge(rule_hash, false, never);
  call->error = done.ok() ? call->error : done.error();
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
rt::Task<void> Stripe::purgeOne(PurgeCall* call, std::string_view key) {
  rt::CancelScope never;
  const base::Hash128 hash = shared_.hash(key);
  const std::optional<store::Entry> entry = index().find(hash);
  const bool varies = entry.has_value() && entry->kind() == store::EntryKind::vary_rule;
  const auto known = variants_.find(hash);
  if (varies && call->soft && known != variants_.end()) {
    const std::vector<base::Hash128> variants = known->second;
    for (const base::Hash128& variant : variants) {
      base::Result<uint64_t> done = co_await store_.purge(variant, true, never);
      call->purged += done.ok() ? done.value() : 0;
      call->error = done.ok() ? call->error : done.error();
    }
    co_return;
  }
  const uint64_t variants = eraseVariants(hash);
  base::Result<uint64_t> done = co_await store_.purge(hash, call->soft && !varies, never);
  call->purged += !done.ok() ? 0 : variants > 0 ? variants : done.value();
  call->error = done.ok() ? call->error : done.error();
  // First bytes of it are no object, and go with a hard purge; a soft one leaves them to be
  // completed, which validates them.
  const base::Hash128 partial = shared_.hash(std::string(key).append(kPartialMark));
  if (!call->soft && index().find(partial).has_value()) {
    done = co_await store_.purge(partial, false, never);
    call->error = done.ok() ? call->error : done.error();
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
    makeDurable(call.hash);
  }
  services_.peers->reply(call);
}

// One after the other, so that a disk that hangs piles up keys and not tasks.
void Stripe::makeDurable(base::Hash128 hash) {
  if (not_durable_.size() >= kMaxNotDurable || stopping_) {
    stats_.invalidations_lost++;
    return;
  }
  not_durable_.push_back(Erased{hash, store_.log().position()});
  if (not_durable_.size() == 1) {
    spawn(writeInvalidations());
  }
}

// A disk that cannot sync loses the note in a crash only; the object is gone from the index
// already.
rt::Task<void> Stripe::writeInvalidations() {
  rt::CancelScope never;
  while (!not_durable_.empty()) {
    const Erased erased = not_durable_.front();
    base::Status written = co_await store_.recordErased(erased.hash, erased.before, never);
    stats_.invalidations_lost += written.ok() ? 0 : 1;
    not_durable_.pop_front();
  }
}

}  // namespace cache
