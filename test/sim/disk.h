// The simulated disk: named files in memory, each in two versions: what programs see, and what
// would be there after a power failure. Faults change results and the second version; the bytes
// that programs see are pristine unless a fault of a broken disk is asked for.
//
// Fault model. Reads and writes take a while and complete in any order; a write takes effect when
// it completes. What was written becomes durable by a sync that began after the write completed, or
// by itself, earlier, sector by sector. A sync covers its file only. Any operation may fail with
// EIO; a failed write may have left any of its sectors; after a failed sync, what it should have
// made durable is visible until the crash and gone after it. Transfers may be short, at a sector.
// At a crash every unsynced sector (512 bytes) is old or new, independently of the others, also
// inside writes that were under way; a file's length is never lost. A sector itself is never torn.
//
// Broken disks (options): writes that are acknowledged and lost, writes that land elsewhere in the
// file, bits that flip for good.
//
// The page cache (for send_file): sectors that were read stay in it, as they were read, until they
// are written, or, unless the disk is a broken one, dropped when they are asked for.
//
// Not modelled: directories, renames, several file systems.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "test/sim/engine.h"
#include "test/sim/options.h"

namespace sim {

struct DiskCounts {
  uint64_t reads = 0;
  uint64_t writes = 0;
  uint64_t syncs = 0;
  uint64_t errors = 0;
  uint64_t lost = 0;
  uint64_t misdirected = 0;
  uint64_t rotten = 0;
  uint64_t crashes = 0;
};

class Disk {
 public:
  static constexpr uint32_t kSector_bytes = 512;

  Disk(Core& core, const DiskOptions& options) : core_(core), options_(options) {}
  ~Disk();

  // The file of that name, made when it is not there with `length` zero bytes. It may grow to
  // `limit`; beyond is ENOSPC.
  uint64_t open(std::string_view name, uint64_t length, uint64_t limit);
  bool exists(std::string_view name) const { return names_.contains(std::string(name)); }

  void start(Pending& pending, uint64_t file);
  void cancel(Pending& pending);
  // The process that asked for it is gone: the operation ends with ECANCELED, and a write has done
  // any part of its work.
  void abandon(Pending& pending);
  // The power fails. Operations under way end with EIO, having done any part of their work.
  void crash();

  // These bytes as the page cache has them; empty unless it has all.
  std::span<const std::byte> cached(uint64_t file, uint64_t offset, uint64_t length);

  // For scenarios: what programs see, to look at and to damage.
  std::span<std::byte> contents(std::string_view name);
  void setOptions(const DiskOptions& options);
  const DiskCounts& counts() const { return counts_; }

 private:
  struct File {
    std::byte* visible = nullptr;
    std::byte* durable = nullptr;
    std::byte* cached = nullptr;
    uint64_t length = 0;
    uint64_t limit = 0;
    std::vector<uint64_t> dirty;     // a bit a sector: visible but not durable
    std::vector<uint64_t> in_cache;  // a bit a sector
    std::vector<Pending*> under_way;
  };
  void schedule(Pending& pending);
  void run(Pending& pending, uint64_t id);
  int32_t read(File& file, rt::Op& op);
  int32_t write(File& file, const rt::Op& op);
  void sync(File& file, const std::vector<uint64_t>& upto);
  void put(File& file, uint64_t offset, std::span<const std::byte> bytes);
  void cache(File& file, uint64_t offset, uint64_t length);
  void uncache(File& file, uint64_t offset, uint64_t length);
  void putSomeSectors(File& file, const rt::Op& op);
  void writeBack(File& file);
  static bool wellFormed(const Pending& pending);
  uint64_t latency();

  Core& core_;
  DiskOptions options_;
  std::vector<std::unique_ptr<File>> files_;
  std::map<std::string, uint64_t> names_;
  std::vector<Pending*> hanging_;
  DiskCounts counts_;
};

}  // namespace sim
