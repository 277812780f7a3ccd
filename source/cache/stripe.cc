#include "source/cache/stripe.h"

#include <algorithm>
#include <utility>

#include "source/cache/labels.h"
#include "source/http/codec.h"

namespace cache {

rt::Task<base::Result<store::RecoveryReport>> Stripe::start(rt::CancelScope& scope) {
  base::Result<store::RecoveryReport> report = co_await store_.recover(scope);
  tried_ = true;
  recovery_tried_.wakeAll();
  if (report.ok()) {
    co_await useRecovered(scope);
  } else if (!recovery_.scope().requested()) {
    const bool spawned = recovery_.spawn(recoverAgain());
    CHECK(spawned);
  }
  co_return report;
}

// Purges and lists wait for the first attempt; requests do not.
rt::Task<void> Stripe::awaitRecovery(uint64_t patience_ns) {
  const base::MonoTime deadline = services_.reactor->now() + patience_ns;
  auto how = rt::WaitQueue::Woken::by_wake;
  while (!tried_ && how == rt::WaitQueue::Woken::by_wake) {
    how = co_await recovery_tried_.wait(serving_.scope(), deadline);
  }
}

rt::Task<void> Stripe::recoverAgain() {
  rt::CancelScope& scope = recovery_.scope();
  uint64_t pause_ns = kRecoverAgain_ns;
  for (uint32_t attempts = 1; !store_.ready(); attempts++) {
    if (!co_await rt::Sleep(services_.reactor->now() + pause_ns, scope)) {
      co_return;
    }
    const store::Unreadable unreadable =
        attempts < kRecoverStrictly ? store::Unreadable::fails : store::Unreadable::is_lost;
    base::Result<store::RecoveryReport> report = co_await store_.recover(scope, unreadable);
    if (report.ok()) {
      co_await useRecovered(scope);
      co_return;
    }
    // What has been invalidated meanwhile is to survive a crash as well.
    const auto otherwise = unreadable == store::Unreadable::fails
                               ? store::IfNotByKey::fail
                               : store::IfNotByKey::give_stripe_up;
    static_cast<void>(co_await store_.saveDropped(otherwise, scope));
    pause_ns = std::min(2 * pause_ns, kRecoverAgainMost_ns);
  }
}

void Stripe::endFills() {
  stopping_ = true;
  tasks_.cancelAll();
}

rt::Task<void> Stripe::stop() {
  endFills();
  recovery_.cancelAll();
  co_await recovery_.join();
  co_await tasks_.join();
  serving_.cancelAll();
  co_await serving_.join();
  co_await saveInvalidations();
  co_await store_.stop();
  stopped_ = true;
}

void Stripe::spawn(rt::Task<void> task) {
  const bool spawned = serving_.spawn(std::move(task));
  CHECK(spawned);
}

// Fills.

void Stripe::noteUse(const FillRequest& request, base::Hash128 hash) {
  if (request.route->policy.min_uses > 1) {
    if (uses_ == nullptr) {
      uses_ = std::make_unique<store::FrequencySketch>(kUseKeys);
    }
    uses_->add(hash);
  }
  if (admission_ != nullptr) {
    admission_->noteRequest(hash);
  }
}

std::optional<policy::NoStoreReason> Stripe::refusedAdmission(base::Hash128 hash, bool known,
                                                              uint64_t bytes) {
  if (admission_ == nullptr) {
    return std::nullopt;
  }
  switch (admission_->decide(hash, known, bytes, policy::clampSeconds(now().s))) {
    case store::Admit::admitted:
      stats_.admitted++;
      return std::nullopt;
    case store::Admit::first_request:
      stats_.not_admitted++;
      return policy::NoStoreReason::admission;
    case store::Admit::over_budget:
      stats_.over_write_budget++;
      break;
  }
  return policy::NoStoreReason::write_budget;
}

void Stripe::setWriteRate(uint64_t bytes_per_s) {
  if (admission_ != nullptr) {
    admission_->setWriteRate(bytes_per_s);
  }
}

void Stripe::spendWrites(uint64_t bytes) {
  if (admission_ != nullptr) {
    admission_->spend(bytes);
  }
}

void Stripe::acquire(AcquireCall& call) {
  const FillRequest& request = *call.request;
  const base::Hash128 hash = shared_.hash(request.key);
  noteUse(request, hash);
  const auto running = by_key_.find(hash);
  if (running != by_key_.end() && running->second->key() == request.key &&
      running->second->joinable(now())) {
    call.how = AcquireHow::started;
    if (!call.background) {
      running->second->subscribe(*call.subscription, false);
      call.how = AcquireHow::joined;
      call.collapsed = true;
      stats_.collapsed++;
    }
    return services_.peers->reply(call);
  }
  const std::optional<store::Entry> entry = index().find(hash);
  if (entry.has_value() && call.broken) {
    eraseIf(hash, *call.seen);
  } else if (entry.has_value() &&
             (!call.seen.has_value() || !store::sameVersion(*entry, *call.seen))) {
    const bool note = entry->kind() == store::EntryKind::hit_for_miss;
    const bool live =
        index().hint(*entry, policy::clampSeconds(now().s)) == store::ExpiryHint::fresh;
    if (!note || live) {
      call.how = note ? AcquireHow::hit_for_miss : AcquireHow::look_again;
      return services_.peers->reply(call);
    }
  }
  if (tasks_.size() >= tasks_.limit() || stopping_) {
    stats_.fills_refused++;
    call.how = AcquireHow::busy;
    return services_.peers->reply(call);
  }
  auto fill = std::make_unique<Fill>(*this, request, ++fill_number_, tasks_.scope());
  Fill* started = fill.get();
  if (!call.background) {
    started->subscribe(*call.subscription, true);
  }
  by_key_[hash] = started;
  fills_.emplace(started->number(), std::move(fill));
  stats_.fills++;
  call.how = call.background ? AcquireHow::started : AcquireHow::joined;
  services_.peers->reply(call);
  const bool spawned = tasks_.spawn(runFill(started));
  CHECK(spawned);
}

rt::Task<void> Stripe::runFill(Fill* fill) {
  co_await fill->run();
  fill->taskEnded();
  reap(*fill);
}

std::unique_ptr<coding::Coder> Stripe::takeCoder(const policy::CodingPlan& plan,
                                                 std::optional<uint32_t> level) {
  const bool compresses = plan.what == policy::Recode::compress;
  std::unique_ptr<coding::Coder> coder;
  if (coders_ < kMaxCoders) {
    coder = compresses ? coding::makeEncoder(plan.coding, level) : coding::makeDecoder(plan.coding);
  }
  if (coder == nullptr) {
    stats_.coders_refused++;
    return nullptr;
  }
  coders_++;
  (compresses ? stats_.compressed : stats_.decompressed)++;
  return coder;
}

void Stripe::countPartial(PartialEvent what) {
  stats_.partials_kept += what == PartialEvent::kept ? 1 : 0;
  stats_.partials_refused += what == PartialEvent::refused ? 1 : 0;
  stats_.partials_resumed += what == PartialEvent::resumed ? 1 : 0;
}

void Stripe::countSlice(SliceEvent what) {
  stats_.sliced += what == SliceEvent::object ? 1 : 0;
  stats_.blocks_fetched += what == SliceEvent::block ? 1 : 0;
  stats_.blocks_changed += what == SliceEvent::changed ? 1 : 0;
  stats_.slices_unusable += what == SliceEvent::unusable ? 1 : 0;
}

void Stripe::rekey(Fill& fill, base::Hash128 before) {
  const auto at = by_key_.find(before);
  if (at != by_key_.end() && at->second == &fill) {
    by_key_.erase(at);
  }
  by_key_[fill.hash()] = &fill;
}

void Stripe::fillEnded(Fill& fill) {
  const auto at = by_key_.find(fill.hash());
  if (at != by_key_.end() && at->second == &fill) {
    by_key_.erase(at);
  }
}

void Stripe::reap(Fill& fill) {
  if (fill.finished()) {
    fills_.erase(fill.number());
  }
}

void Stripe::publishHitForMiss(base::Hash128 hash, uint32_t ttl_s, policy::NoStoreReason why) {
  stats_.hit_for_miss++;
  const uint64_t serial = noteSerial(++serials_, why);
  const uint32_t until_s = policy::clampSeconds(now().s + ttl_s);
  index().publish(hash, store::Entry::makeUnplaced(hash, store::EntryKind::hit_for_miss, serial,
                                                   index().expiryFor(until_s)));
}

void Stripe::keepInMemory(std::span<const std::byte> record, const store::Entry& entry) {
  const store::RecordHeader header = store::loadStruct<store::RecordHeader>(record);
  const auto kind = static_cast<store::RecordKind>(header.kind);
  if (kind == store::RecordKind::chunk) {
    return;
  }
  base::Result<store::RecordView> view =
      store::decodeRecord(record, store::RecordPlace{header.sequence, header.offset_units, salt()});
  CHECK(view.ok());  // it was made a moment ago
  services_.ram->insert(view.value(), record, entry, id_);
}

void Stripe::noteVariant(base::Hash128 primary, base::Hash128 variant) {
  if (variant_count_ >= kMaxVariants) {
    return;
  }
  std::vector<base::Hash128>& known = variants_[primary];
  if (std::find(known.begin(), known.end(), variant) == known.end()) {
    known.push_back(variant);
    variant_count_++;
  }
}

uint64_t Stripe::eraseVariants(base::Hash128 primary) {
  const auto at = variants_.find(primary);
  if (at == variants_.end()) {
    return 0;
  }
  uint64_t erased = 0;
  for (const base::Hash128& variant : at->second) {
    const std::optional<store::Entry> entry = index().erase(variant);
    erased += entry.has_value() && entry->placed() ? 1 : 0;
  }
  variant_count_ -= at->second.size();
  variants_.erase(at);
  return erased;
}

// Calls.

void Stripe::awaitHead(AwaitHeadCall& call) {
  spawn(serveHead(&call));
}

rt::Task<void> Stripe::serveHead(AwaitHeadCall* call) {
  co_await call->subscription->fill->awaitHead(*call);
  services_.peers->reply(*call);
}

void Stripe::pull(PullCall& call) {
  spawn(servePull(&call));
}

rt::Task<void> Stripe::servePull(PullCall* call) {
  co_await call->subscription->fill->pull(*call);
  services_.peers->reply(*call);
}

void Stripe::leave(LeaveCall& call) {
  call.subscription->fill->leave(*call.subscription);
  services_.peers->reply(call);
}

void Stripe::awaitFlush(AwaitFlushCall& call) {
  spawn(serveFlush(&call));
}

rt::Task<void> Stripe::serveFlush(AwaitFlushCall* call) {
  call->written =
      store_.ready() && !store_.log().isOut() && co_await store_.log().flush(patience());
  services_.peers->reply(*call);
}

// An older version that recovery comes to later is not to take its place.
void Stripe::eraseIf(base::Hash128 hash, store::Entry entry) {
  if (index().eraseIf(hash, entry) && !store_.ready()) {
    store_.dropAtRecovery(hash);
  }
}

void Stripe::resize(ResizeCall& call) {
  if (stopping_) {
    return services_.peers->reply(call);
  }
  spawn(serveResize(&call));
}

rt::Task<void> Stripe::serveResize(ResizeCall* call) {
  if (call->cut) {
    store_.forgetCut();
    call->done = true;
  } else {
    call->done = co_await store_.resize(call->segments, serving_.scope());
  }
  services_.peers->reply(*call);
}

void Stripe::keep(KeepCall& call) {
  spawn(serveKeep(&call));
}

rt::Task<void> Stripe::serveKeep(KeepCall* call) {
  if (canStore() && call->epoch == epoch_ && call->key.size() <= store::kMaxKeyBytes) {
    bool doomed = false;
    keeping_.push_back(&doomed);
    call->stored = co_await append(*call, doomed);
    keeping_.erase(std::find(keeping_.begin(), keeping_.end(), &doomed));
  }
  services_.peers->reply(*call);
}

rt::Task<bool> Stripe::append(const KeepCall& call, const bool& doomed) {
  std::vector<std::byte> meta;
  encodeMeta(*call.head, meta);
  std::vector<store::Label> labels;
  appendDirectoryLabels(call.key, shared_.hash_seed, labels);
  appendTagLabels(call.head->tags, shared_.hash_seed, labels);
  labels.insert(labels.end(), call.groups.begin(), call.groups.end());
  store::RecordFields fields;
  fields.kind = store::RecordKind::object;
  fields.place.salt = salt();
  fields.hash = shared_.hash(call.key);
  fields.written_s = call.head->received_s;
  fields.expires_s = call.head->times.fresh_until_s;
  fields.labels = labels;
  std::vector<std::byte> record(
      store::recordBytes(static_cast<uint32_t>(call.key.size()),
                         static_cast<uint32_t>(meta.size() + fields.labels.size_bytes()),
                         static_cast<uint32_t>(call.body.size())));
  const base::Result<uint32_t> length =
      store::encodeRecord(record, fields, call.key, meta, call.body);
  if (!length.ok()) {
    co_return false;
  }
  store::Publish publish;
  publish.kind = store::EntryKind::object;
  publish.expires_s = fields.expires_s;
  publish.doomed = &doomed;
  rt::CancelScope never;
  base::Result<store::Appended> appended = co_await log().append(record, publish, never);
  if (!appended.ok()) {
    co_return false;
  }
  spendWrites(record.size());
  keepInMemory(record, appended.value().entry);
  co_return true;
}

}  // namespace cache
