// The end of a fill whose body is whole: its records, its place in the index, its copy in memory.
#include <algorithm>
#include <utility>

#include "source/cache/fill.h"
#include "source/cache/stripe.h"

namespace cache {
store::RecordFields Fill::recordFields(store::RecordKind kind) const {
  store::RecordFields fields;
  fields.kind = kind;
  fields.place.salt = stripe_.salt();
  fields.hash =
      kind == store::RecordKind::chunk ? chunk_hash_.value_or(record_hash_) : record_hash_;
  fields.written_s = info_.head.received_s;
  fields.expires_s = info_.head.times.fresh_until_s;
  if (kind != store::RecordKind::chunk) {
    fields.labels = labels_;
  }
  if (kind == store::RecordKind::chunk || kind == store::RecordKind::head) {
    fields.object_id = object_id_;
  }
  if (kind == store::RecordKind::chunk) {
    fields.chunk_number = static_cast<uint32_t>(extents_.size());
  }
  if (kind == store::RecordKind::head) {
    fields.object_length = received_;
  }
  return fields;
}

rt::Task<void> Fill::finish() {
  // An empty body has a record all the same.
  if (storing_ && (!parts_.empty() || co_await openPart())) {
    stripe_.spendWrites(received_ - std::min(received_, paid_bytes_));
    const bool stored = chunked_ ? co_await appendHead() : co_await appendObject();
    if (stored) {
      co_await appendRules();
      dropPartial();
    }
  }
  complete_ = true;
  info_.length = received_;
  wake();
}

rt::Task<bool> Fill::appendRecord(std::span<std::byte> record, store::Publish publish) {
  publish.doomed = &purged_;
  base::Result<store::Appended> appended = co_await stripe_.log().append(record, publish, scope_);
  if (!appended.ok()) {
    co_return false;
  }
  stripe_.keepInMemory(record, appended.value().entry);
  co_return true;
}

rt::Task<bool> Fill::appendObject() {
  FillPart& part = *parts_.back();
  const uint32_t bytes = part.writer->finish();
  part.writer.reset();
  store::Publish publish;
  publish.kind = store::EntryKind::object;
  publish.expires_s = info_.head.times.fresh_until_s;
  co_return co_await appendRecord(part.buffer.span().first(bytes), publish);
}

rt::Task<bool> Fill::appendHead() {
  // The last chunk is empty when a body of unknown length ended where a chunk did.
  if (parts_.back()->writer.has_value() && parts_.back()->length > 0) {
    co_await closeChunk();
  }
  std::vector<std::byte> body;
  if (!storing_ || !arePresent(extents_) || !store::encodeExtents(extents_, received_, body).ok()) {
    co_return false;
  }
  std::vector<std::byte> record(store::recordBytes(
      static_cast<uint32_t>(record_key_.size()), metaBytes(), static_cast<uint32_t>(body.size())));
  const base::Result<uint32_t> length =
      store::encodeRecord(record, recordFields(store::RecordKind::head), record_key_, meta_, body);
  if (!length.ok()) {
    co_return false;
  }
  store::Publish publish;
  publish.kind = store::EntryKind::extents;
  publish.expires_s = info_.head.times.fresh_until_s;
  co_return co_await appendRecord(record, publish);
}

rt::Task<void> Fill::appendRules() {
  if (rule_.has_value()) {
    stripe_.noteVariant(stripe_.shared().hash(record_primary_), record_hash_);
  }
  if (new_rule_) {
    co_await appendRule(record_primary_, *rule_);
  }
  if (new_search_) {
    co_await appendRule(searchRuleKey(asked_), *search_);
  }
  if (record_primary_ != primary_key_) {
    // What was found there, and could not be used, is not to be found before this.
    stripe_.index().erase(hash_);
  }
}

rt::Task<void> Fill::appendRule(std::string key, VaryRule rule) {
  std::vector<std::byte> meta;
  encodeVaryRule(rule, meta);
  store::RecordFields fields = recordFields(store::RecordKind::vary_rule);
  fields.hash = stripe_.shared().hash(key);
  fields.labels = std::span(labels_).first(directories_);  // tags are each variant's own
  std::vector<std::byte> record(
      store::recordBytes(static_cast<uint32_t>(key.size()),
                         static_cast<uint32_t>(meta.size() + fields.labels.size_bytes()), 0));
  const base::Result<uint32_t> length = store::encodeRecord(record, fields, key, meta, {});
  if (!length.ok()) {
    co_return;
  }
  store::Publish publish;
  publish.kind = store::EntryKind::vary_rule;
  publish.expires_s = UINT32_MAX;
  static_cast<void>(co_await appendRecord(record, publish));
}

}  // namespace cache
