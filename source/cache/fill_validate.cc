// The 304 of a revalidation: the stored record is written again with the head that the update made
// of it. (A patch record pointing at the old body was rejected: a rewrite keeps one read a hit and
// one format, and costs a write of at most 256 KiB; a large object's chunks stay where they are.)
#include <utility>

#include "source/cache/fill.h"
#include "source/cache/labels.h"
#include "source/cache/refusal.h"
#include "source/cache/stripe.h"
#include "source/policy/compression.h"
#include "source/policy/search.h"

namespace cache {

// Whether a 304 says other things of the query than the stored response: its key is another then.
bool Fill::changesSearch(const http::Fields& stored, const http::Fields& update) const {
  const std::string variance = by_path_ ? policy::searchVarianceOf(update) : std::string();
  return !variance.empty() && variance != policy::searchVarianceOf(stored);
}

rt::Task<bool> Fill::validated(const http::ResponseHead& received, policy::Exchange exchange) {
  http::ResponseHead update;
  policy::addStoredVary(stored_.fields, received, update);
  if (!stored_entry_.has_value() || !stripe_.canStore() ||
      !policy::selectsStored(stored_.fields, update.fields, exchange.received) ||
      policy::changesVary(stored_.fields, update.fields) ||
      changesSearch(stored_.fields, update.fields)) {
    co_return false;
  }
  http::ResponseHead merged;
  policy::mergeOn304(stored_, update, merged);
  policy::StoreDecision decision = policy::decideStore(request_, directives_, merged, exchange,
                                                       route_->policy, route_->policy.set_cookie);
  policy::Store* store = std::get_if<policy::Store>(&decision);
  if (store == nullptr || operatorsRefusal(*route_, request_, uri_, merged).has_value()) {
    co_return false;
  }
  const std::optional<store::Entry> now = stripe_.index().find(hash_);
  if (!now.has_value() || !now->placed() || purged_ ||
      !store::sameVersion(now->withInBuffer(false), stored_entry_->withInBuffer(false))) {
    co_return false;
  }
  const base::MonoTime deadline = stripe_.patience();
  if (now->inBuffer()) {
    static_cast<void>(co_await stripe_.log().flush(deadline));
  }
  base::Result<store::RecordRef> old = co_await stripe_.reader().read(
      stripe_.recordFile(), stripe_.table().locate(*now), scope_, deadline);
  if (!old.ok() || !old.value().record().isFor(hash_, key_)) {
    co_return false;
  }
  const store::RecordView& record = old.value().record();
  const bool large = record.kind() == store::RecordKind::head;
  // A 304 that says nothing of tags leaves them as they are; they may not be in the stored head.
  const std::optional<StoredHead> stored_head = decodeMeta(record.meta);
  if (!stored_head.has_value()) {
    co_return false;
  }
  std::optional<std::string> tags(stored_head->tags);
  if (policy::hasTagFields(update.fields, tagRules())) {
    tags = joinTags(update.fields, tagRules());
  }
  if (!tags.has_value() || !useTags(*tags, merged.fields) || purged_) {
    co_return false;
  }
  policy::hideTagFields(tagRules(), store->strip);
  uint64_t length = large ? record.header.object_length : record.header.body_length;
  if (stored_head->sliced) {
    const std::optional<SliceTable> table = decodeSliceTable(record.body);
    if (!table.has_value()) {
      co_return false;
    }
    length = table->layout.length;
  }
  takeValidatedHead(merged, *store, *stored_head, length);
  info_.head.status = merged.status;
  info_.head.text = head_text_;
  info_.head.received_s = policy::clampSeconds(exchange.received.s);
  info_.head.times = store->times;
  info_.head.traits = store->traits;
  if (!metaFits(head_text_.size())) {
    co_return false;
  }
  info_.head.tags = tags_;
  encodeMeta(info_.head, meta_);
  co_return co_await rewrite(record, *now);
}

// The stored body stays as it was coded, and its entity tag with it.
void Fill::takeValidatedHead(const http::ResponseHead& merged, const policy::Store& store,
                             const StoredHead& stored, uint64_t length) {
  std::string tag(merged.fields.value(http::Name::etag));
  if (stored.weakened) {
    tag.insert(0, "W/");
  }
  http::ResponseHead kept;
  policy::replaceEntityTag(merged, tag, kept);
  HeadText text =
      makeHeadText(kept, policy::StoredFields(kept.fields, store), length, stripe_.now());
  head_text_ = std::move(text.text);
  info_.head.length_in_head = text.has_length;
  info_.head.recoded = stored.recoded;
  info_.head.weakened = stored.weakened;
  info_.head.sliced = stored.sliced;
}

rt::Task<bool> Fill::rewrite(const store::RecordView& old, store::Entry entry) {
  store::RecordFields fields = recordFields(old.kind());
  fields.object_id = old.header.object_id;
  fields.object_length = old.header.object_length;
  std::vector<std::byte> record(store::recordBytes(static_cast<uint32_t>(old.key.size()),
                                                   metaBytes(), old.header.body_length));
  const base::Result<uint32_t> length =
      store::encodeRecord(record, fields, old.key, meta_, old.body);
  if (!length.ok()) {
    co_return false;
  }
  store::Publish publish;
  publish.kind = entry.kind();
  publish.expires_s = info_.head.times.fresh_until_s;
  publish.frequency = entry.frequency();
  publish.replaces = entry;  // its chunks, or itself, may be written elsewhere meanwhile
  const bool written = co_await appendRecord(record, publish);
  stripe_.spendWrites(written ? record.size() : 0);
  co_return written;
}

}  // namespace cache
