// A long body that ended too early, and its completion (RFC 9111 3.3, 3.4). What was received of it
// is in the log already, as chunks; a head record that names them makes them findable, under a key
// that no request has: the object's own with kPartialMark behind it. So nothing on the disk can be
// taken for the whole. The next fetch of the key asks for the rest, if the entity tag is still the
// same, and begins with those chunks.
#include <algorithm>
#include <utility>

#include "source/cache/fill.h"
#include "source/cache/stripe.h"
#include "source/http/codec.h"
#include "source/http/serialize.h"
#include "source/policy/compression.h"
#include "source/policy/partial.h"

namespace cache {
namespace {

std::string partialKey(std::string_view key) {
  return std::string(key).append(kPartialMark);
}

}  // namespace

// Puts the chunks that were closed on record, when they are worth asking for the rest.
rt::Task<void> Fill::keepPrefix() {
  const bool open = !parts_.empty() && parts_.back()->writer.has_value();
  const uint64_t bytes = open ? parts_.back()->offset : received_;
  // A rule that is new is not stored: nobody would find what is under it.
  const bool findable = !new_rule_ && !new_search_ && !purged_;
  if (!storing_ || !chunked_ || extents_.empty() || !findable || !completable_ ||
      !info_.length.has_value() || bytes >= *info_.length) {
    co_return;
  }
  std::vector<std::byte> body;
  if (!store::encodeExtents(extents_, bytes, body).ok()) {
    co_return;
  }
  const std::string key = partialKey(record_key_);
  store::RecordFields fields = recordFields(store::RecordKind::head);
  fields.hash = stripe_.shared().hash(key);
  fields.object_length = bytes;
  std::vector<std::byte> record(store::recordBytes(static_cast<uint32_t>(key.size()), metaBytes(),
                                                   static_cast<uint32_t>(body.size())));
  if (!store::encodeRecord(record, fields, key, meta_, body).ok()) {
    co_return;
  }
  store::Publish publish;
  publish.kind = store::EntryKind::extents;
  publish.expires_s = info_.head.times.fresh_until_s;
  publish.doomed = &purged_;
  rt::CancelScope never;  // whoever wanted it may have gone
  base::Result<store::Appended> appended = co_await stripe_.log().append(record, publish, never);
  stripe_.countPartial(appended.ok() ? PartialEvent::kept : PartialEvent::refused);
}

bool Fill::arePresent(const std::vector<store::Extent>& extents) const {
  return std::ranges::all_of(extents, [this](const store::Extent& extent) {
    return extent.segment < stripe_.table().count() &&
           stripe_.table().sequence(extent.segment) == extent.sequence &&
           !stripe_.log().isLost(extent.location());
  });
}

// True: there are first bytes of this key, and the rest can be asked for.
rt::Task<bool> Fill::findPartial() {
  const std::string key = partialKey(key_);
  const base::Hash128 hash = stripe_.shared().hash(key);
  std::optional<store::Entry> entry = stripe_.index().find(hash);
  if (!entry.has_value() || entry->kind() != store::EntryKind::extents ||
      !stripe_.store().ready()) {
    co_return false;
  }
  if (entry->inBuffer()) {
    static_cast<void>(co_await stripe_.log().flush(stripe_.patience()));
    entry = stripe_.index().find(hash);
  }
  if (!entry.has_value() || entry->inBuffer()) {
    co_return false;
  }
  base::Result<store::RecordRef> read = co_await stripe_.reader().read(
      stripe_.recordFile(), stripe_.table().locate(*entry), scope_, stripe_.patience());
  if (!read.ok() || !takePartial(read.value().record(), hash, key)) {
    stripe_.index().eraseIf(hash, *entry);
    co_return false;
  }
  partial_->entry = *entry;
  partial_->hash = hash;
  co_return true;
}

bool Fill::takePartial(const store::RecordView& record, base::Hash128 hash, std::string_view key) {
  const std::optional<StoredHead> head = decodeMeta(record.meta);
  if (!record.isFor(hash, key) || record.kind() != store::RecordKind::head || !head.has_value()) {
    return false;
  }
  base::Result<store::ExtentTable> table =
      store::ExtentTable::parse(record.body, record.header.object_length);
  if (!table.ok()) {
    return false;
  }
  auto partial = std::make_unique<Partial>();
  partial->text = head->text;
  partial->object_id = record.header.object_id;
  partial->bytes = record.header.object_length;
  for (uint32_t i = 0; i < table.value().count(); i++) {
    partial->extents.push_back(table.value().at(i));
  }
  const http::Limits any{UINT32_MAX, UINT16_MAX, UINT32_MAX};
  const http::ParseOutcome parsed = http::parseResponseHead(partial->text, any, partial->head);
  const std::optional<uint64_t> length = http::contentLength(partial->head);
  if (!std::holds_alternative<http::Parsed>(parsed) || !policy::canBeCompleted(partial->head) ||
      length.value_or(0) <= partial->bytes || !arePresent(partial->extents)) {
    return false;
  }
  partial->length = *length;
  partial->etag = policy::strongTagOf(partial->head.fields);
  partial->range = "bytes=" + std::to_string(partial->bytes) + "-";
  partial_ = std::move(partial);
  return true;
}

// The response is the rest of what is there: then it is decided on as the whole would be.
bool Fill::resume(const http::ResponseHead& response, policy::Exchange exchange,
                  std::optional<uint64_t> body_length) {
  const policy::Rest rest{partial_->bytes, partial_->length, partial_->etag};
  http::ResponseHead update;
  policy::addStoredVary(partial_->head.fields, response, update);
  if (!policy::isRest(response, body_length, rest) ||
      policy::changesVary(partial_->head.fields, update.fields) ||
      changesSearch(partial_->head.fields, response.fields) || !arePresent(partial_->extents)) {
    return false;
  }
  http::ResponseHead merged;
  policy::mergeOn304(partial_->head, response, merged);  // RFC 9111 3.4
  decide(merged, exchange, partial_->length, Recoding::forbidden);
  chunked_ = true;
  object_id_ = partial_->object_id;
  extents_ = partial_->extents;
  received_ = partial_->bytes;
  chunk_hash_ = hash_;
  if (storing_ && record_hash_ != hash_) {
    stopStoring();  // the chunks are another key's
  }
  stripe_.countPartial(PartialEvent::resumed);
  return true;
}

// What was there is of no use: another version, an origin without ranges, or it is whole now.
void Fill::dropPartial() {
  if (partial_ != nullptr) {
    stripe_.index().eraseIf(partial_->hash, partial_->entry);
    partial_.reset();
  }
}

}  // namespace cache
