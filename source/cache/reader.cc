#include "source/cache/reader.h"

#include <algorithm>
#include <utility>

#include "source/cache/shard_cache.h"
#include "source/cache/sliced_body.h"
#include "source/http/codec.h"
#include "source/policy/partial.h"

namespace cache {

Reader::Reader() = default;

Reader::~Reader() {
  CHECK(subscription_.fill == nullptr);
}

std::optional<std::span<const std::byte>> Reader::whole() const {
  if (source_ == Source::memory || source_ == Source::record) {
    return body_;
  }
  return std::nullopt;
}

bool Reader::useMemory(RamTier& tier, RamObject& object) {
  if (object.kind == store::RecordKind::head) {
    if (!useExtents(object.body, object.object_length)) {
      return false;
    }
    hash_ = object.hash;
    object_id_ = object.object_id;
  } else if (object.head.sliced) {
    if (!useSlices(object.body, object.key)) {
      return false;
    }
  } else {
    source_ = Source::memory;
    body_ = object.body;
    length_ = object.body.size();
  }
  ram_ = RamRef(tier, object);
  head_ = object.head;
  return true;
}

bool Reader::useRecord(store::RecordRef read) {
  const store::RecordView& record = read.record();
  const std::optional<StoredHead> head = decodeMeta(record.meta);
  if (!head.has_value()) {
    return false;
  }
  if (record.kind() == store::RecordKind::head) {
    if (!useExtents(record.body, record.header.object_length)) {
      return false;
    }
    hash_ = record.hash();
    object_id_ = record.header.object_id;
  } else if (record.kind() == store::RecordKind::object && head->sliced) {
    if (!useSlices(record.body, record.key)) {
      return false;
    }
  } else if (record.kind() == store::RecordKind::object) {
    source_ = Source::record;
    body_ = record.body;
    length_ = record.body.size();
  } else {
    return false;
  }
  head_ = *head;
  record_ = std::move(read);
  return true;
}

bool Reader::useExtents(std::span<const std::byte> table, uint64_t object_length) {
  base::Result<store::ExtentTable> extents = store::ExtentTable::parse(table, object_length);
  if (!extents.ok()) {
    return false;
  }
  extents_ = extents.value();
  length_ = object_length;
  source_ = Source::extents;
  return true;
}

bool Reader::useSlices(std::span<const std::byte> body, std::string_view key) {
  slices_ = decodeSliceTable(body);
  if (!slices_.has_value()) {
    return false;
  }
  key_ = key;
  length_ = slices_->layout.length;
  source_ = Source::sliced;
  return true;
}

void Reader::useBlocks(const FillRequest& request) {
  http::ResponseHead head;
  const http::Limits any{UINT32_MAX, UINT16_MAX, UINT32_MAX};
  const http::ParseOutcome parsed = http::parseResponseHead(head_.text, any, head);
  CHECK(std::holds_alternative<http::Parsed>(parsed));  // we wrote it
  blocks_ = std::make_unique<SlicedBody>(*cache_, stripe_, *slices_, key_,
                                         policy::strongTagOf(head.fields), request);
}

rt::Task<base::Status> Reader::openBlock(rt::CancelScope& scope) {
  co_return co_await blocks_->open(position_, end(), scope);
}

void Reader::useFill(const FillInfo& info) {
  source_ = Source::fill;
  firsthand_ = info.firsthand;
  head_ = info.head;
  length_ = info.length;
}

// The part of `bytes`, which begin at `offset` of the body, that is wanted; moves on behind it.
std::span<const std::byte> Reader::clip(std::span<const std::byte> bytes, uint64_t offset) {
  const uint64_t from = std::max(position_, offset);
  const uint64_t to = std::min(end_, offset + bytes.size());
  if (from >= to) {
    return {};
  }
  position_ = to;
  return bytes.subspan(from - offset, to - from);
}

// The wanted part of bytes that stay until the next piece is fetched.
Reader::Piece Reader::take(std::span<const std::byte> bytes, uint64_t offset) {
  held_ = bytes;
  held_at_ = offset;
  return clip(bytes, offset);
}

void Reader::letGo(uint64_t unsent) {
  CHECK(canLetGo() && unsent <= position_);
  position_ -= unsent;
  held_ = {};
  chunk_ = {};
  ahead_ = {};
  if (source_ == Source::record && record_) {
    file_ = record_.file();
    at_ = record_.at();
    head_text_ = head_.text;
    head_.text = head_text_;
    head_.tags = {};
    body_ = {};
    record_ = {};
  }
}

// The record that was let go of. A place and its sequence name one record for ever.
rt::Task<base::Status> Reader::readAgain(rt::CancelScope& scope) {
  base::Result<store::RecordRef> read =
      co_await cache_->reader().read(file_, at_, scope, base::kNever);
  if (!read.ok()) {
    co_return read.error();
  }
  record_ = std::move(read.value());
  body_ = record_.record().body;
  if (body_.size() != length_) {
    co_return base::Error{base::Code::corrupt, base::Blame::disk};
  }
  co_return base::Unit{};
}

rt::Task<Reader::Piece> Reader::next(rt::CancelScope& scope) {
  if (position_ >= end_ ||
      (length_.has_value() && position_ >= *length_ && source_ != Source::fill)) {
    co_return std::span<const std::byte>();
  }
  if (position_ >= held_at_ && position_ - held_at_ < held_.size()) {
    co_return clip(held_, held_at_);
  }
  held_ = {};
  if (source_ == Source::record && !record_) {
    const base::Status read = co_await readAgain(scope);
    if (!read.ok()) {
      co_return read.error();
    }
  }
  switch (source_) {
    case Source::memory:
    case Source::record:
      co_return clip(body_, 0);
    case Source::extents:
      co_return co_await nextChunk(scope);
    case Source::fill:
      co_return co_await nextPull(scope);
    case Source::sliced: {
      Piece piece = co_await blocks_->next(position_, end(), scope);
      position_ += piece.ok() ? piece.value().size() : 0;
      co_return piece;
    }
    case Source::none:
      break;
  }
  co_return std::span<const std::byte>();
}

rt::Task<Reader::Piece> Reader::readExtent(store::Extent extent, base::Hash128 hash,
                                           uint64_t object_id, uint32_t number,
                                           rt::CancelScope& scope) {
  const store::RecordFile file = cache_->stripeShared(stripe_).hitFile();
  for (bool again = true;; again = false) {
    chunk_ = {};
    base::Result<store::RecordRef> read =
        co_await cache_->reader().read(file, extent.location(), scope, base::kNever);
    if (read.ok() && read.value().record().isChunk(hash, object_id, number)) {
      chunk_ = std::move(read.value());
      cache_->noteVerified(stripe_, chunk_, extent.location());
      Piece piece = take(chunk_.record().body, extent.object_offset);
      if (piece.value().empty()) {
        co_return base::Error{base::Code::corrupt, base::Blame::disk};
      }
      co_return piece;
    }
    const bool may_help = again && (read.ok() || read.error().code == base::Code::stale_location ||
                                    read.error().code == base::Code::corrupt);
    // It may still be in the owner's buffer.
    if (!may_help || !co_await cache_->awaitFlush(stripe_)) {
      co_return read.ok() ? base::Error{base::Code::stale_location, base::Blame::disk}
                          : read.error();
    }
  }
}

rt::Task<Reader::Piece> Reader::nextChunk(rt::CancelScope& scope) {
  const uint32_t number = extents_->indexOf(position_);
  const base::MonoTime now = cache_->now();
  const bool keeps_pace = handed_out_.ns > 0 && now < handed_out_ + kPace_ns;
  Piece piece = co_await readExtent(extents_->at(number), hash_, object_id_, number, scope);
  ahead_ = {};
  if (piece.ok() && keeps_pace) {
    readAhead(number + 1);
  }
  handed_out_ = cache_->now();
  co_return piece;
}

// One chunk, so that the disk works while the client takes the one before it. A slow client, or one
// of which nothing is known yet, has one buffer and not two.
void Reader::readAhead(uint32_t number) {
  if (number >= extents_->count() || extents_->at(number).object_offset >= end()) {
    return;
  }
  const store::Location at = extents_->at(number).location();
  if (cache_->findVerified(stripe_, at) == nullptr) {
    ahead_ = cache_->reader().ahead(cache_->stripeShared(stripe_).hitFile(), at);
  }
}

rt::Task<Reader::Piece> Reader::nextPull(rt::CancelScope& scope) {
  while (position_ < end_) {
    PullCall call;
    const uint64_t offset = subscription_.position;
    held_ = {};  // it goes back with the call
    call.subscription = &subscription_;
    co_await cache_->call(stripe_, call);
    if (call.how == PullHow::end) {
      co_return std::span<const std::byte>();
    }
    if (call.how == PullHow::failed) {
      co_return base::Error{base::Code::peer_closed, base::Blame::upstream};
    }
    if (call.how == PullHow::extent) {
      if (position_ >= subscription_.position) {
        continue;  // a range that begins later: the extent need not be read
      }
      co_return co_await readExtent(call.extent, call.hash, call.object_id, call.chunk_number,
                                    scope);
    }
    Piece piece = take(call.bytes, offset);
    if (!piece.value().empty()) {
      co_return piece;
    }
  }
  co_return std::span<const std::byte>();
}

rt::Task<void> Reader::close() {
  if (blocks_ != nullptr) {
    co_await blocks_->close();
    blocks_.reset();
  }
  if (subscription_.fill != nullptr) {
    LeaveCall call;
    call.subscription = &subscription_;
    co_await cache_->call(stripe_, call);
  }
  subscription_ = Subscription{};
  ram_.reset();
  record_ = {};
  chunk_ = {};
  ahead_ = {};
  handed_out_ = base::MonoTime{0};
  extents_.reset();
  slices_.reset();
  held_ = {};
  source_ = Source::none;
  entry_.reset();
  firsthand_ = false;
  position_ = 0;
  end_ = UINT64_MAX;
}

}  // namespace cache
