// The files of one directory of a cache: found, checked, made and locked on the control thread.
// What another program or another version wrote is refused, never overwritten. How a directory is
// cut into stripes and segments stays as it was found, unless the configuration insists.
//
//   DIR/lock                    held while the process runs
//   DIR/stripe-NNN.data         preallocated; superblock and segments
//   DIR/stripe-NNN.index-a, -b  snapshots
//   DIR/stripe-NNN.purge-a, -b  purge journal
//
// A log's file is never longer than its superblock says: what a smaller size has cut off must not
// come back when it grows again. A directory is opened with at least the segments that it has;
// those that are too many are given up while it is used (setSegments).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/store/core/allocator.h"
#include "source/store/io/stripe_files.h"

namespace store {

struct CacheLayout {
  std::string directory;
  uint64_t max_size_bytes = 0;
  uint32_t stripes = 0;        // 0: by size
  uint64_t segment_bytes = 0;  // 0: by size
  bool direct_io = true;
  // Bodies are sent from the page cache (disk_io: SENDFILE). Records are written past it all the
  // same, whatever direct_io says (cached_data.h).
  bool sendfile = false;
  uint32_t now_s = 0;        // Unix seconds, for new superblocks
  bool make_parents = true;  // false: a parent that is missing is an error
  // How long to wait for the lock of another process. One that was killed may hold it a moment
  // longer: the kernel first ends the I/O that was under way.
  uint32_t lock_patience_ms = 0;
  // Of the cache: a directory with another seed is refused. Absent: as found, or a new one.
  std::optional<uint64_t> hash_seed;
};

// Owns the descriptors and the lock.
class CacheFiles {
 public:
  // An error is a sentence for an operator, naming the path and what to do.
  struct Opened {
    std::unique_ptr<CacheFiles> files;
    std::string error;
    std::string warning;  // such as a file system without direct I/O
  };
  static Opened open(const CacheLayout& layout);
  // The seed in the directory, if its first stripe is intact. Looks, and changes nothing.
  static std::optional<uint64_t> seedIn(const std::string& directory);
  ~CacheFiles();

  const std::vector<StripeFiles>& stripes() const { return stripes_; }
  bool direct() const { return direct_; }
  uint64_t bytes() const;
  const std::string& directory() const { return directory_; }

  // So many segments of a stripe fit in, as the directory is cut; 0: too few.
  uint32_t segmentsFor(uint64_t max_size_bytes) const;
  // The same the other way round: the bytes of all stripes.
  uint64_t bytesFor(uint32_t segments) const;
  // Every stripe is to have so many. What is new is reserved first; what goes must not be used any
  // more, and stays in the files until trimLogs(). An error is a sentence: some may have it
  // already.
  std::string setSegments(uint32_t segments);
  // Gives the file system back what lies behind the last segments.
  std::string trimLogs();

  Member member() const;
  // Durable when it returns; an error is a sentence.
  std::string setMembership(const Membership& membership);
  // Gives up all contents: the directory gets a new identity, under which nothing in it is found.
  // Before its stripes are used.
  std::string giveUp(uint32_t now_s);

 private:
  CacheFiles() = default;
  std::string lock(uint32_t patience_ms);
  std::string openStripe(const CacheLayout& layout, uint32_t stripe, struct StripePlan& plan);
  std::string openNotes(uint32_t stripe);

  std::string directory_;
  int lock_fd_ = -1;
  bool blank_ = false;  // formatted by this object
  bool direct_ = true;
  std::vector<StripeFiles> stripes_;
};

// How a cache of a size is cut; exposed for tests. stripe_count 0: too small.
struct StripeCut {
  uint32_t stripe_count = 0;
  uint32_t segment_bytes = 0;
  uint32_t segments_per_stripe = 0;
};
StripeCut cutCache(uint64_t max_size_bytes, uint32_t stripes, uint64_t segment_bytes);
// The least max_size_bytes that a cache can have.
inline constexpr uint64_t kMinCacheBytes = uint64_t{kMinSegments} * kMinSegmentBytes + kDataOffset;

}  // namespace store
