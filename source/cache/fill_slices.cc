// Slicing (slices.h). A fetch for an object that nothing is known of asks for one block of it. If
// the answer is that block, and may be stored, the object's table is stored, whoever waited is told
// to look again, and the fill goes on as the fetch of that block: it has the stream already. If
// not, the whole is asked for, or, when it may not be stored, each client fetches what it wants.
#include <utility>

#include "source/cache/fill.h"
#include "source/cache/stripe.h"
#include "source/policy/error.h"
#include "source/policy/partial.h"

namespace cache {

rt::Task<Fill::Step> Fill::takeSlice(policy::BlockAnswer answer, policy::Exchange exchange,
                                     const OriginStream& stream) {
  using Kind = policy::BlockAnswer::Kind;
  if (answer.kind == Kind::beyond && slice_block_ > 0) {
    slice_block_ = 0;  // the beginning says how long it is
    co_return Step::again;
  }
  if (answer.kind != Kind::block && answer.kind != Kind::whole) {
    stripe_.countSlice(SliceEvent::unusable);
    slice_bytes_ = 0;
    co_return Step::again;
  }
  http::ResponseHead whole;
  policy::wholeOf(stream.head(), whole);
  if (answer.kind == Kind::whole) {
    decide(whole, exchange, answer.length, Recoding::allowed);
    co_return Step::streams;
  }
  info_.head.sliced = true;
  decide(whole, exchange, answer.length, Recoding::forbidden);
  has_head_ = false;  // nobody is to take this for the body's length
  SliceTable table{stripe_.nextRuleId(), policy::SliceLayout{answer.length, slice_bytes_}};
  if (!storing_ || !co_await appendSlices(table)) {
    how_ = FillHead::released;
    co_return Step::ended;
  }
  co_await appendRules();
  stripe_.countSlice(SliceEvent::object);
  const std::string_view etag = policy::strongTagOf(stream.head().fields);
  becomeBlock(BlockSpec{table, slice_block_, std::string(etag)});
  co_return takeBlock(stream) ? Step::streams : Step::ended;
}

rt::Task<bool> Fill::appendSlices(const SliceTable& table) {
  const std::vector<std::byte> body = encodeSliceTable(table);
  std::vector<std::byte> record(store::recordBytes(
      static_cast<uint32_t>(record_key_.size()), metaBytes(), static_cast<uint32_t>(body.size())));
  const base::Result<uint32_t> length = store::encodeRecord(
      record, recordFields(store::RecordKind::object), record_key_, meta_, body);
  if (!length.ok()) {
    co_return false;
  }
  store::Publish publish;
  publish.kind = store::EntryKind::object;
  publish.expires_s = info_.head.times.fresh_until_s;
  const bool stored = co_await appendRecord(record, publish);
  co_return stored && !purged_;
}

// The object is stored. Those that wait for it look again; from now on this is one block's fetch.
void Fill::becomeBlock(BlockSpec block) {
  for (Subscription* reader : readers_) {
    reader->sliced = true;
  }
  const base::Hash128 before = hash_;
  key_ = blockKey(record_key_, block.table.id, block.block);
  hash_ = stripe_.shared().hash(key_);
  record_primary_ = primary_key_;
  record_key_ = key_;
  record_hash_ = hash_;
  rule_.reset();
  search_.reset();
  narrowed_ = false;
  new_rule_ = false;
  new_search_ = false;
  stored_entry_.reset();
  labels_.clear();
  directories_ = 0;
  tags_.clear();
  block_ = std::move(block);
  wake();
  stripe_.rekey(*this, before);
}

// False: it is not the block.
bool Fill::takeBlock(const OriginStream& stream) {
  const policy::SliceLayout& layout = block_->table.layout;
  if (policy::isErrorStatus(stream.head().status)) {
    fail(policy::UpstreamFailure::status);
    return false;
  }
  if (!policy::isBlock(stream.head(), stream.length(), layout, block_->block, block_->etag)) {
    stripe_.countSlice(SliceEvent::changed);
    how_ = FillHead::changed;
    return false;
  }
  beginBlock();
  return true;
}

void Fill::beginBlock() {
  const policy::SliceLayout& layout = block_->table.layout;
  stripe_.countSlice(SliceEvent::block);
  labels_.clear();
  directories_ = 0;
  completable_ = false;
  info_.length = layout.rangeOf(block_->block).length();
  head_text_ = blockHead(layout, block_->block, block_->etag);
  info_.head = StoredHead{};
  info_.head.status = 206;
  info_.head.text = head_text_;
  info_.head.received_s = policy::clampSeconds(stripe_.now().s);
  info_.head.times.fresh_until_s = UINT32_MAX;  // the object's record has its times
  encodeMeta(info_.head, meta_);
  paid_bytes_ = *info_.length;
  const std::optional<policy::NoStoreReason> refused =
      stripe_.canStore() ? stripe_.refusedAdmission(hash_, true, paid_bytes_)
                         : std::optional(policy::NoStoreReason::unavailable);
  storing_ = !refused.has_value();
  passing_ = !storing_;
  info_.stored = storing_;
  info_.why_not = refused.value_or(policy::NoStoreReason::disabled);
  has_head_ = true;
  how_ = FillHead::response;
  detached_ = detached_ || passing_;
}

}  // namespace cache
