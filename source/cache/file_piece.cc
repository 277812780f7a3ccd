// Reader and ShardCache: chunks that are sent from the page cache (disk_io: SENDFILE).
#include <algorithm>

#include "source/cache/reader.h"
#include "source/cache/shard_cache.h"
#include "source/cache/sliced_body.h"

namespace cache {

const store::VerifiedRecord* ShardCache::findVerified(base::StripeId stripe,
                                                      store::Location at) const {
  return verified_.has_value() ? verified_->find(base::index(stripe), at, services_.reactor->now())
                               : nullptr;
}

// A chunk that others have held for long was verified when it was read, not now.
void ShardCache::noteVerified(base::StripeId stripe, const store::RecordRef& chunk,
                              store::Location at) {
  if (!verified_.has_value()) {
    return;
  }
  store::VerifiedRecord known;
  known.sequence = at.sequence;
  known.object_id = chunk.record().header.object_id;
  known.when = chunk.when();
  known.offset_units = at.offset_units;
  known.body_at = chunk.record().bodyAt();
  known.body_bytes = chunk.record().header.body_length;
  known.stripe = base::index(stripe);
  verified_->add(known);
}

// What lies in a block is that block's own affair.
bool Reader::sendsFile() const {
  if (source_ == Source::sliced) {
    const Reader* block = blocks_->readerAt(position_);
    return block != nullptr && block->sendsFile();
  }
  return source_ == Source::extents && cache_->shared().sendfile && position_ < end();
}

void Reader::skip(uint32_t bytes) {
  position_ += bytes;
  held_ = {};  // read before, and sent
  chunk_ = {};
  if (source_ == Source::sliced) {
    blocks_->skip(bytes);
  }
}

FilePiece Reader::filePiece() const {
  if (source_ == Source::sliced) {
    const Reader* block = blocks_->readerAt(position_);
    return block != nullptr ? block->filePiece() : FilePiece{};
  }
  if (!sendsFile()) {
    return {};
  }
  const store::Extent extent = extents_->at(extents_->indexOf(position_));
  const store::Location at = extent.location();
  const uint64_t within = position_ - extent.object_offset;
  const store::VerifiedRecord* known = cache_->findVerified(stripe_, at);
  if (known == nullptr || known->object_id != object_id_ || within >= known->body_bytes) {
    return {};
  }
  const store::StripeFiles& files = cache_->stripeShared(stripe_).files;
  const uint64_t record_at = store::segmentOffset(at.segment, files.superblock.segment_bytes) +
                             uint64_t{at.offset_units} * store::kUnitBytes;
  FilePiece piece;
  piece.file = files.cached_fd;
  piece.offset = record_at + known->body_at + within;
  piece.mapped = {files.mapped + piece.offset,
                  std::min<uint64_t>(end() - position_, known->body_bytes - within)};
  piece.segment = at.segment;
  piece.sequence = at.sequence;
  return piece;
}

bool Reader::pin(const FilePiece& piece) {
  return cache_->stripeShared(stripe_).table->pin(piece.segment, piece.sequence);
}

void Reader::unpin(const FilePiece& piece) {
  cache_->stripeShared(stripe_).table->unpin(piece.segment);
}

}  // namespace cache
