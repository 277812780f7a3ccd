// The body of a fill: from the origin into parts, from parts to subscribers and to the log.
#include <algorithm>
#include <array>
#include <utility>

#include "source/cache/fill.h"
#include "source/cache/stripe.h"

namespace cache {
namespace {

// The longest body that fits a buffer behind key and meta.
uint32_t bodyRoom(uint32_t buffer_bytes, size_t key_bytes, size_t meta_bytes) {
  const uint32_t head =
      store::bodyOffset(store::bodyBlocks(buffer_bytes), static_cast<uint32_t>(key_bytes),
                        static_cast<uint32_t>(meta_bytes));
  return buffer_bytes > head ? buffer_bytes - head : 0;
}

}  // namespace

bool Fill::oversized() const {
  if (info_.head.sliced) {
    return false;  // it is not one body
  }
  const std::optional<uint64_t> of_route =
      block_.has_value() ? std::nullopt : route_->policy.max_object_bytes;
  const uint64_t limit = std::min(stripe_.maxObjectBytes(), of_route.value_or(UINT64_MAX));
  return std::max(info_.length.value_or(0), received_) > limit;
}

void Fill::retireParts(size_t keep) {
  while (parts_.size() > keep) {
    FillPart* part = parts_.front();
    parts_.erase(parts_.begin());
    part->retired = true;
    if (part->readers == 0) {
      delete part;
    }
  }
}

uint64_t Fill::slowest() const {
  uint64_t position = UINT64_MAX;
  for (const Subscription* reader : readers_) {
    position = std::min(position, reader->position);
  }
  return position;
}

void Fill::stopStoring() {
  storing_ = false;
  detached_ = true;  // what was received and handed out already is nowhere any more
  for (FillPart* part : parts_) {
    part->writer.reset();
  }
}

// Receives until the clean end of the body (true), or until it fails or nobody wants it.
rt::Task<bool> Fill::stream(OriginStream& origin) {
  while (true) {
    std::array<std::byte, 1> probe;
    std::span<std::byte> to = probe;
    const bool full = info_.length.has_value() && received_ == *info_.length;
    if (!full) {
      if (!co_await makeSpace()) {
        co_return false;
      }
      to = space();
    }
    base::Result<uint32_t> read = co_await origin.read(to, scope_);
    if (!read.ok() || (full && read.value() != 0)) {
      co_return false;
    }
    if (read.value() == 0) {
      co_return !info_.length.has_value() || full;
    }
    received(read.value());
    if (storing_ && (oversized() || purged_)) {
      stopStoring();
    }
    wake();
    if (abandoned()) {
      co_return false;
    }
  }
}

std::span<std::byte> Fill::space() {
  FillPart& part = *parts_.back();
  if (part.writer.has_value()) {
    return part.writer->space();
  }
  return part.buffer.span().subspan(part.body_at + part.length);
}

void Fill::received(uint32_t bytes) {
  FillPart& part = *parts_.back();
  if (part.writer.has_value()) {
    part.writer->appended(bytes);
  }
  part.length += bytes;
  received_ += bytes;
}

// Sees to it that the last part has room.
rt::Task<bool> Fill::makeSpace() {
  while (parts_.empty() || space().empty()) {
    bool opened = false;
    if (parts_.empty()) {
      opened = co_await openPart();
    } else if (!storing_) {
      opened = co_await openPass();
    } else if (chunked_) {
      co_await closeChunk();
      opened = co_await openPart();
    } else {
      opened = co_await replacePart(received_ >= store::kMaxObjectBody);
    }
    if (!opened) {
      co_return false;
    }
  }
  co_return true;
}

// Who waits for memory holds none, or all fills could wait for one another. Empty: there is none
// for a part that would have to be kept meanwhile, or nobody wants it any more.
rt::Task<rt::Buffer> Fill::memory(uint32_t bytes) {
  rt::Buffer buffer = stripe_.pool().tryTake(bytes);
  if (buffer || (!parts_.empty() && parts_.back()->writer.has_value())) {
    co_return std::move(buffer);
  }
  // What is stored is read from the disk from here on; the rest must be taken first.
  while (!storing_ && slowest() < received_) {
    if (co_await progress_.wait(scope_) != rt::WaitQueue::Woken::by_wake || subscribers_ == 0) {
      co_return rt::Buffer();
    }
  }
  retireParts(0);
  base::Result<rt::Buffer> taken = co_await stripe_.pool().take(bytes, scope_);
  if (taken.ok()) {
    buffer = std::move(taken.value());
  }
  co_return std::move(buffer);
}

rt::Task<bool> Fill::openPart() {
  if (!storing_) {
    co_return co_await openPass();
  }
  const uint64_t length = info_.length.value_or(0);
  if (chunked_ || length > store::kMaxObjectBody) {
    co_return co_await openChunk();
  }
  if (info_.length.has_value()) {
    const uint32_t bytes = store::recordBytes(static_cast<uint32_t>(record_key_.size()),
                                              metaBytes(), static_cast<uint32_t>(length));
    co_return co_await openObject(bytes, static_cast<uint32_t>(length));
  }
  co_return co_await openObject(kFirstPart + store::kMaxMetaBytes,
                                std::min(kFirstPart, bodyRoom(kFirstPart + store::kMaxMetaBytes,
                                                              record_key_.size(), metaBytes())));
}

rt::Task<bool> Fill::openObject(uint32_t buffer_bytes, uint32_t max_body) {
  rt::Buffer buffer = co_await memory(buffer_bytes);
  if (!buffer) {
    co_return false;
  }
  auto part = std::make_unique<FillPart>();
  part->buffer = std::move(buffer);
  base::Result<store::RecordWriter> writer = store::RecordWriter::begin(
      part->buffer.span(), recordFields(store::RecordKind::object), record_key_, meta_, max_body);
  if (!writer.ok()) {
    co_return false;
  }
  part->writer.emplace(std::move(writer.value()));
  part->body_at = static_cast<uint32_t>(part->writer->space().data() - part->buffer.data());
  parts_.push_back(part.release());
  co_return true;
}

rt::Task<bool> Fill::openChunk() {
  chunked_ = true;
  if (object_id_ == 0) {
    object_id_ = stripe_.nextRuleId();
  }
  const uint32_t max_body = std::min(kChunkBody, stripe_.maxChunkBody());
  rt::Buffer buffer = co_await memory(store::recordBytes(0, 0, max_body));
  if (!buffer) {
    co_return false;
  }
  auto part = std::make_unique<FillPart>();
  part->buffer = std::move(buffer);
  part->offset = received_;
  base::Result<store::RecordWriter> writer = store::RecordWriter::begin(
      part->buffer.span(), recordFields(store::RecordKind::chunk), {}, {}, max_body);
  CHECK(writer.ok());  // the sizes are ours
  part->writer.emplace(std::move(writer.value()));
  part->body_at = static_cast<uint32_t>(part->writer->space().data() - part->buffer.data());
  parts_.push_back(part.release());
  retireParts(kMaxParts);
  co_return true;
}

// Memory for a body that is not stored: no more of it than what readers have not taken yet.
rt::Task<bool> Fill::openPass() {
  if (!co_await waitForReaders()) {
    co_return false;
  }
  const uint64_t left = info_.length.has_value() ? *info_.length - received_ : kPassPart;
  rt::Buffer buffer =
      co_await memory(static_cast<uint32_t>(std::clamp<uint64_t>(left, 1, kPassPart)));
  if (!buffer) {
    co_return false;
  }
  auto part = std::make_unique<FillPart>();
  part->buffer = std::move(buffer);
  part->offset = received_;
  parts_.push_back(part.release());
  co_return true;
}

rt::Task<bool> Fill::waitForReaders() {
  while (parts_.size() >= kMaxParts) {
    const FillPart& oldest = *parts_.front();
    if (slowest() >= oldest.offset + oldest.length) {
      retireParts(parts_.size() - 1);
      continue;
    }
    if (co_await progress_.wait(scope_) != rt::WaitQueue::Woken::by_wake || subscribers_ == 0) {
      co_return false;
    }
  }
  co_return true;
}

// The object is longer than its buffer: it moves into a larger one, or becomes the first chunk.
// Readers keep what they were lent of the old one.
rt::Task<bool> Fill::replacePart(bool as_chunk) {
  FillPart& old = *parts_.back();
  const uint64_t before = received_;
  received_ = 0;  // the new part begins at the body's first byte
  bool opened = false;
  if (as_chunk) {
    opened = co_await openChunk();
  } else {
    const uint32_t body = std::min(store::kMaxObjectBody, old.length * 2);
    opened = co_await openObject(
        store::recordBytes(static_cast<uint32_t>(record_key_.size()), metaBytes(), body), body);
  }
  received_ = before;
  if (!opened) {
    // Without memory for a larger one it is not stored; who reads it gets it all the same.
    stopStoring();
    co_return !scope_.requested();
  }
  FillPart& fresh = *parts_.back();
  const uint32_t copied = fresh.writer->append(old.buffer.span().subspan(old.body_at, old.length));
  CHECK(copied == old.length);
  fresh.length = copied;
  retireParts(1);
  co_return true;
}

// A chunk is whole: it goes to the log, and its place into the table of extents.
rt::Task<void> Fill::closeChunk() {
  FillPart& part = *parts_.back();
  const uint32_t bytes = part.writer->finish();
  part.writer.reset();
  const store::Publish unlisted;
  base::Result<store::Appended> appended =
      co_await stripe_.log().append(part.buffer.span().first(bytes), unlisted, scope_);
  if (!appended.ok()) {
    stopStoring();
    co_return;
  }
  const store::Location at = appended.value().at;
  store::Extent extent;
  extent.sequence = at.sequence;
  extent.object_offset = part.offset;
  extent.segment = at.segment;
  extent.offset_units = static_cast<uint16_t>(at.offset_units);
  extent.length_units = static_cast<uint16_t>(at.length_units);
  extents_.push_back(extent);
}

// The last bytes are handed out once the object is in the index, so that a client that has the
// whole response finds it stored.
bool Fill::lastPieceWaits(const FillPart& part) const {
  return storing_ && !complete_ && !ended_ && info_.length.has_value() &&
         part.offset + part.length == *info_.length;
}

rt::Task<void> Fill::pull(PullCall& call) {
  Subscription& subscription = *call.subscription;
  if (subscription.held != nullptr) {
    FillPart* part = std::exchange(subscription.held, nullptr);
    if (--part->readers == 0 && part->retired) {
      delete part;
    }
  }
  if (!storing_) {
    wake();  // the fill may wait for this reader
  }
  if (subscription.position > 0) {
    noLongerAwaited(subscription);
  }
  rt::CancelScope never;
  while (true) {
    const uint64_t position = subscription.position;
    if (position > 0 && !passing_ && crowd_.holdsBack(stripe_.mono())) {
      static_cast<void>(co_await progress_.wait(never, crowd_.until()));
      continue;
    }
    for (FillPart* part : parts_) {
      if (position >= part->offset && position < part->offset + part->length) {
        if (lastPieceWaits(*part)) {
          break;
        }
        const auto from = static_cast<uint32_t>(position - part->offset);
        const uint32_t most = Crowd::most(subscribers_, position == 0);
        const uint32_t bytes = std::min(part->length - from, most);
        part->readers++;
        subscription.held = part;
        subscription.position = position + bytes;
        call.how = PullHow::bytes;
        call.bytes = part->buffer.span().subspan(part->body_at + from, bytes);
        co_return;
      }
    }
    if (position < received_ && (parts_.empty() || position < parts_.front()->offset)) {
      const auto next =
          std::upper_bound(extents_.begin(), extents_.end(), position,
                           [](uint64_t p, const store::Extent& e) { return p < e.object_offset; });
      call.how = next == extents_.begin() ? PullHow::failed : PullHow::extent;
      if (call.how == PullHow::extent) {
        call.extent = *std::prev(next);
        call.object_id = object_id_;
        call.chunk_number = static_cast<uint32_t>(std::prev(next) - extents_.begin());
        call.hash = chunk_hash_.value_or(record_hash_);
        subscription.position = next == extents_.end()
                                    ? received_ - (parts_.empty() ? 0 : parts_.back()->length)
                                    : next->object_offset;
      }
      co_return;
    }
    if (complete_ || ended_) {
      call.how = complete_ ? PullHow::end : PullHow::failed;
      co_return;
    }
    co_await progress_.wait(never);
  }
}

}  // namespace cache
