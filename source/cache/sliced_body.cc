#include "source/cache/sliced_body.h"

#include <algorithm>
#include <utility>

namespace cache {
namespace {

// What is found can change between looking and asking.
constexpr int kRounds = 4;

base::Error unavailable() {
  return base::Error{base::Code::no_capacity, base::Blame::disk};
}

}  // namespace

SlicedBody::SlicedBody(ShardCache& cache, base::StripeId stripe, const SliceTable& table,
                       std::string_view key, std::string_view etag, const FillRequest& request)
    : cache_(cache), table_(table), object_key_(key), request_(request) {
  keys_.stripe = stripe;
  request_.rule.reset();
  request_.search.reset();
  request_.stored_entry.reset();
  request_.stored_head = {};
  request_.slice_bytes = 0;
  request_.block = BlockSpec{table, 0, std::string(etag)};
}

void SlicedBody::name(uint64_t block) {
  keys_.primary = blockKey(object_key_, table_.id, block);
  keys_.primary_hash = cache_.shared().hash(keys_.primary);
  keys_.rule.reset();
  request_.key = keys_.primary;
  request_.block->block = block;
}

bool SlicedBody::isOpen(uint64_t position) const {
  const bool passed = reader_.source() == Reader::Source::fill && position < taken_;
  return open_ && table_.layout.indexOf(position) == block_ && !passed;
}

bool SlicedBody::isThisBlock() const {
  return reader_.head().text == head_ && reader_.length() == table_.layout.rangeOf(block_).length();
}

rt::Task<base::Status> SlicedBody::open(uint64_t position, uint64_t end, rt::CancelScope& scope) {
  if (isOpen(position)) {
    co_return base::Unit{};
  }
  co_await close();
  block_ = table_.layout.indexOf(position);
  name(block_);
  head_ = blockHead(table_.layout, block_, request_.block->etag);
  base::Status status = unavailable();
  bool again = true;
  for (int round = 0; round < kRounds && again; round++) {
    LookupResult seen = co_await cache_.lookupBlock(keys_, reader_, scope);
    if (seen.found == Found::object && isThisBlock()) {
      status = base::Unit{};
      break;
    }
    seen.broken = seen.broken || seen.found == Found::object;
    co_await reader_.close();
    status = co_await acquire(seen, again);
  }
  open_ = status.ok();
  const uint64_t next = block_ + 1;
  if (open_ && (!fetched_ || info_.stored) && next * table_.layout.block_bytes < end) {
    co_await fetchAhead(next);
  }
  co_return status;
}

// Joins the fetch of the block, or begins it. again: something has come to the index meanwhile.
rt::Task<base::Status> SlicedBody::acquire(const LookupResult& seen, bool& again) {
  const ShardCache::Acquired acquired = co_await cache_.acquire(keys_, request_, seen, reader_);
  again = acquired.how == AcquireHow::look_again;
  if (acquired.how != AcquireHow::joined) {
    co_return unavailable();
  }
  collapsed_ = acquired.collapsed;
  base::Status head = co_await awaitHead();
  if (!head.ok()) {
    co_await reader_.close();
  }
  co_return head;
}

rt::Task<base::Status> SlicedBody::awaitHead() {
  const uint64_t wait_ms = request_.route->policy.collapse_timeout_ms;
  const base::MonoTime deadline =
      collapsed_ ? cache_.now() + wait_ms * base::kMillisecond_ns : base::kNever;
  const AwaitHeadCall call = co_await cache_.awaitHead(reader_, request_.head->fields, deadline);
  switch (call.how) {
    case FillHead::response:
      fetched_ = true;
      info_ = call.info;
      if (!isThisBlock()) {
        co_return unavailable();
      }
      co_return base::Unit{};
    case FillHead::changed:
      co_return base::Error{base::Code::stale_location, base::Blame::disk};
    case FillHead::failed:
      if (call.failure == policy::UpstreamFailure::status) {
        break;  // what the origin says is for the client to see
      }
      failure_ = call.failure;
      co_return base::Error{base::Code::peer_closed, base::Blame::upstream};
    case FillHead::validated:
    case FillHead::sliced:
    case FillHead::released:
    case FillHead::interim:
    case FillHead::timed_out:
      break;
  }
  co_return unavailable();
}

rt::Task<void> SlicedBody::fetchAhead(uint64_t block) {
  name(block);
  if (!cache_.isIndexed(keys_)) {
    static_cast<void>(co_await cache_.refresh(keys_, request_, LookupResult{}));
  }
  name(block_);
}

rt::Task<base::Result<std::span<const std::byte>>> SlicedBody::next(uint64_t position, uint64_t end,
                                                                    rt::CancelScope& scope) {
  for (bool again = true;; again = false) {
    base::Status ready = co_await open(position, end, scope);
    if (!ready.ok()) {
      co_return ready.error();
    }
    const http::ByteRange range = table_.layout.rangeOf(block_);
    reader_.setRange(position - range.first, std::min(end - 1, range.last) - range.first);
    base::Result<std::span<const std::byte>> piece = co_await reader_.next(scope);
    if (piece.ok() && !piece.value().empty()) {
      taken_ = position + piece.value().size();
      co_return piece;
    }
    // A stored block that cannot be read is fetched anew, once.
    const bool of_disk = reader_.source() != Reader::Source::fill;
    if (!again || !of_disk || scope.requested()) {
      co_return piece.ok() ? base::Error{base::Code::corrupt, base::Blame::disk} : piece.error();
    }
    co_await drop();
  }
}

// The open block is of no use.
rt::Task<void> SlicedBody::drop() {
  const std::optional<store::Entry> entry = reader_.entry();
  co_await close();
  if (entry.has_value()) {
    co_await cache_.forget(keys_, *entry);
  }
}

rt::Task<void> SlicedBody::close() {
  co_await reader_.close();
  open_ = false;
  fetched_ = false;
  collapsed_ = false;
  taken_ = 0;
}

const Reader* SlicedBody::readerAt(uint64_t position) const {
  const bool next = isOpen(position) && position == taken_;
  return next ? &reader_ : nullptr;
}

void SlicedBody::skip(uint32_t bytes) {
  taken_ += bytes;
  reader_.skip(bytes);
}

}  // namespace cache
