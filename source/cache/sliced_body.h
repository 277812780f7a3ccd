// The body of a sliced object (slices.h), read block by block: from memory, from the disk, or from
// the fetch of the block, which this asks for. Lives in a Reader.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "source/cache/calls.h"
#include "source/cache/reader.h"
#include "source/cache/shard_cache.h"

namespace cache {

class SlicedBody {
 public:
  // `key`: the object's. Copies what it needs of the request, but what that views must stay.
  SlicedBody(ShardCache& cache, base::StripeId stripe, const SliceTable& table,
             std::string_view key, std::string_view etag, const FillRequest& request);

  // Sees to it that the block of this byte is there, or arrives. `end`: behind the last byte that
  // is wanted; where the next block is among them and is not stored, it is fetched meanwhile.
  // Errors: blame disk and stale_location, the object is of another version than the origin's;
  // blame disk else, the block cannot be had here, but the origin may be asked for it; blame
  // upstream, failure() says how the origin failed.
  rt::Task<base::Status> open(uint64_t position, uint64_t end, rt::CancelScope& scope);
  // The next bytes from there, at most to the block's end.
  rt::Task<base::Result<std::span<const std::byte>>> next(uint64_t position, uint64_t end,
                                                          rt::CancelScope& scope);
  rt::Task<void> close();

  // What open() found, of the block that is open.
  bool fetched() const { return fetched_; }
  const FillInfo& info() const { return info_; }
  bool collapsed() const { return collapsed_; }
  policy::UpstreamFailure failure() const { return failure_; }
  // The reader of the block that has the byte, if it is open; with sendsFile() and filePiece() it
  // says how the byte can be sent. skip() when that was done.
  const Reader* readerAt(uint64_t position) const;
  void skip(uint32_t bytes);

 private:
  void name(uint64_t block);
  bool isOpen(uint64_t position) const;
  bool isThisBlock() const;
  rt::Task<base::Status> acquire(const LookupResult& seen, bool& again);
  rt::Task<base::Status> awaitHead();
  rt::Task<void> fetchAhead(uint64_t block);
  rt::Task<void> drop();

  ShardCache& cache_;
  SliceTable table_;
  std::string object_key_;
  FillRequest request_;
  Keys keys_;         // of the block
  std::string head_;  // that the block must have
  uint64_t block_ = 0;
  uint64_t taken_ = 0;  // behind the last byte that was given
  bool open_ = false;
  bool fetched_ = false;
  bool collapsed_ = false;
  FillInfo info_;
  policy::UpstreamFailure failure_ = policy::UpstreamFailure::connect;
  Reader reader_;
};

}  // namespace cache
