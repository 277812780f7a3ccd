#include "test/sim/disk.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "source/base/hash.h"

namespace sim {
namespace {

std::byte* reserve(uint64_t bytes) {
  // Address space only: pages come, zeroed, when they are first touched.
  void* map = mmap(nullptr, std::max<uint64_t>(bytes, 1), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(map != MAP_FAILED);
  return static_cast<std::byte*>(map);
}

uint64_t checksumOf(const rt::Op& op) {
  return base::hash64({static_cast<const char*>(op.addr), op.len}, 0);
}

template <class F>
void forEachBit(std::vector<uint64_t>& words, F action) {
  for (size_t i = 0; i < words.size(); i++) {
    for (uint64_t bits = words[i]; bits != 0; bits &= bits - 1) {
      action(i * 64 + static_cast<uint64_t>(std::countr_zero(bits)));
    }
  }
}

}  // namespace

Disk::~Disk() {
  for (const std::unique_ptr<File>& file : files_) {
    munmap(file->visible, std::max<uint64_t>(file->limit, 1));
    munmap(file->durable, std::max<uint64_t>(file->limit, 1));
    munmap(file->cached, std::max<uint64_t>(file->limit, 1));
  }
}

uint64_t Disk::open(std::string_view name, uint64_t length, uint64_t limit) {
  const auto [found, fresh] = names_.try_emplace(std::string(name), files_.size());
  if (fresh) {
    auto file = std::make_unique<File>();
    file->length = length;
    file->limit = (std::max(length, limit) + kSector_bytes - 1) / kSector_bytes * kSector_bytes;
    file->visible = reserve(file->limit);
    file->durable = reserve(file->limit);
    file->cached = reserve(file->limit);
    file->dirty.resize(file->limit / kSector_bytes / 64 + 1);
    file->in_cache.resize(file->dirty.size());
    files_.push_back(std::move(file));
  }
  return found->second;
}

std::span<std::byte> Disk::contents(std::string_view name) {
  const auto found = names_.find(std::string(name));
  CHECK(found != names_.end());
  File& file = *files_[found->second];
  return {file.visible, file.length};
}

uint64_t Disk::latency() {
  const uint64_t most = core_.chance(options_.spike)
                            ? std::max(options_.spike_max_ns, options_.latency_max_ns)
                            : options_.latency_max_ns;
  return core_.random().between(options_.latency_min_ns, most);
}

bool Disk::wellFormed(const Pending& pending) {
  const rt::Op& op = *pending.op;
  if (op.offset == rt::kStreamOffset || op.offset > INT64_MAX) {
    return false;
  }
  if (op.fixed && !pending.engine->inRegion(op.addr, op.len)) {
    return false;
  }
  const uint64_t address = reinterpret_cast<uint64_t>(op.addr);
  return !pending.direct || ((address | op.len | op.offset) % kSector_bytes == 0);
}

void Disk::start(Pending& pending, uint64_t id) {
  File& file = *files_[id];
  const rt::Op& op = *pending.op;
  pending.node = id;
  if (op.kind == rt::OpKind::fsync) {
    pending.sectors = file.dirty;
  } else if (op.kind == rt::OpKind::read || op.kind == rt::OpKind::write) {
    if (!wellFormed(pending)) {
      pending.engine->finish(pending, -EINVAL);
      return;
    }
    pending.checksum = op.kind == rt::OpKind::write ? checksumOf(op) : 0;
  } else {
    // Sockets' operations; poll, as on Linux, finds a file always ready.
    pending.engine->finish(pending,
                           op.kind == rt::OpKind::poll ? static_cast<int32_t>(op.len) : -ENOTSOCK);
    return;
  }
  file.under_way.push_back(&pending);
  if (options_.hang > 0 && core_.chance(options_.hang)) {
    hanging_.push_back(&pending);
    return;
  }
  schedule(pending);
}

void Disk::schedule(Pending& pending) {
  core_.schedule(core_.now() + latency(), [this, &pending, operation = pending.id] {
    if (pending.id == operation && !pending.settled) {
      run(pending, pending.node);
    }
  });
}

void Disk::setOptions(const DiskOptions& options) {
  options_ = options;
  if (options.hang == 0) {
    for (Pending* pending : std::exchange(hanging_, {})) {
      schedule(*pending);
    }
  }
}

void Disk::run(Pending& pending, uint64_t id) {
  File& file = *files_[id];
  std::erase(file.under_way, &pending);
  rt::Op& op = *pending.op;
  int32_t result = 0;
  switch (op.kind) {
    case rt::OpKind::read:
      result = read(file, op);
      break;
    case rt::OpKind::write:
      CHECK(pending.checksum ==
            checksumOf(op));  // its owner changed the bytes of a write under way
      result = write(file, op);
      break;
    default:
      counts_.syncs++;
      if (core_.chance(options_.sync_error)) {
        // Linux marks the pages clean: they are neither durable nor will they ever be.
        forEachBit(pending.sectors, [&file](uint64_t sector) {
          file.dirty[sector / 64] &= ~(1ULL << (sector % 64));
        });
        result = -EIO;
      } else {
        sync(file, pending.sectors);
      }
      break;
  }
  counts_.errors += result < 0 ? 1 : 0;
  pending.engine->finish(pending, result);
}

int32_t Disk::read(File& file, rt::Op& op) {
  counts_.reads++;
  if (core_.chance(options_.read_error)) {
    return -EIO;
  }
  if (op.offset >= file.length) {
    return 0;
  }
  uint64_t count = std::min<uint64_t>(op.len, file.length - op.offset);
  if (count > kSector_bytes && core_.chance(options_.short_transfer)) {
    count = core_.random().between(1, (count - 1) / kSector_bytes) * kSector_bytes;
  }
  if (count > 0 && core_.chance(options_.bit_rot)) {
    const uint64_t at = op.offset + core_.random().below(count);
    const auto flip = static_cast<std::byte>(1U << core_.random().below(8));
    file.visible[at] ^= flip;
    file.durable[at] ^= flip;
    counts_.rotten++;
  }
  std::memcpy(op.addr, file.visible + op.offset, count);
  cache(file, op.offset, count);
  return static_cast<int32_t>(count);
}

// Whole sectors only; what is there already stays as it is.
void Disk::cache(File& file, uint64_t offset, uint64_t length) {
  const uint64_t end = (offset + length) / kSector_bytes;
  for (uint64_t sector = (offset + kSector_bytes - 1) / kSector_bytes; sector < end; sector++) {
    const uint64_t bit = 1ULL << (sector % 64);
    if ((file.in_cache[sector / 64] & bit) == 0) {
      file.in_cache[sector / 64] |= bit;
      std::memcpy(file.cached + sector * kSector_bytes, file.visible + sector * kSector_bytes,
                  kSector_bytes);
    }
  }
}

void Disk::uncache(File& file, uint64_t offset, uint64_t length) {
  for (uint64_t sector = offset / kSector_bytes; sector * kSector_bytes < offset + length;
       sector++) {
    file.in_cache[sector / 64] &= ~(1ULL << (sector % 64));
  }
}

std::span<const std::byte> Disk::cached(uint64_t id, uint64_t offset, uint64_t length) {
  File& file = *files_[id];
  if (length == 0 || offset > file.length || length > file.length - offset) {
    return {};
  }
  const bool sound =
      options_.bit_rot == 0 && options_.lost_write == 0 && options_.misdirected_write == 0;
  if (sound && core_.chance(options_.page_drop)) {
    const uint64_t at = core_.random().below(length);
    uncache(file, offset + at, length - at);
  }
  for (uint64_t sector = offset / kSector_bytes; sector * kSector_bytes < offset + length;
       sector++) {
    if ((file.in_cache[sector / 64] >> (sector % 64) & 1) == 0) {
      return {};
    }
  }
  return {file.cached + offset, length};
}

int32_t Disk::write(File& file, const rt::Op& op) {
  counts_.writes++;
  if (op.offset >= file.limit && op.len > 0) {
    return -ENOSPC;
  }
  uncache(file, op.offset, std::min<uint64_t>(op.len, file.limit - op.offset));
  if (core_.chance(options_.write_error)) {
    putSomeSectors(file, op);
    return -EIO;
  }
  uint64_t count = std::min<uint64_t>(op.len, file.limit - op.offset);
  if (count > kSector_bytes && core_.chance(options_.short_transfer)) {
    count = core_.random().between(1, (count - 1) / kSector_bytes) * kSector_bytes;
  }
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(op.addr), count);
  if (core_.chance(options_.lost_write)) {
    counts_.lost++;
  } else if (file.length > count && core_.chance(options_.misdirected_write)) {
    counts_.misdirected++;
    const uint64_t elsewhere = core_.random().below((file.length - count) / kSector_bytes + 1);
    put(file, elsewhere * kSector_bytes, bytes);
  } else {
    put(file, op.offset, bytes);
  }
  if (core_.chance(options_.write_back)) {
    writeBack(file);
  }
  return static_cast<int32_t>(count);
}

void Disk::put(File& file, uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) {
    return;
  }
  std::memcpy(file.visible + offset, bytes.data(), bytes.size());
  uncache(file, offset, bytes.size());
  file.length = std::max(file.length, offset + bytes.size());
  const uint64_t last = (offset + bytes.size() - 1) / kSector_bytes;
  for (uint64_t sector = offset / kSector_bytes; sector <= last; sector++) {
    file.dirty[sector / 64] |= 1ULL << (sector % 64);
  }
}

// What is left of a write that did not end well. A prefix, or any sectors.
void Disk::putSomeSectors(File& file, const rt::Op& op) {
  const auto* bytes = static_cast<const std::byte*>(op.addr);
  const uint64_t end = std::min<uint64_t>(op.offset + op.len, file.limit);
  const uint64_t of_four = core_.random().below(5);  // none to all
  uint64_t at = op.offset;
  while (at < end) {
    const uint64_t next = std::min(end, (at / kSector_bytes + 1) * kSector_bytes);
    if (core_.random().chance(of_four, 4)) {
      put(file, at, {bytes + (at - op.offset), next - at});
    }
    at = next;
  }
}

void Disk::sync(File& file, const std::vector<uint64_t>& upto) {
  std::vector<uint64_t> sectors = upto;
  forEachBit(sectors, [&file](uint64_t sector) {
    std::memcpy(file.durable + sector * kSector_bytes, file.visible + sector * kSector_bytes,
                kSector_bytes);
    file.dirty[sector / 64] &= ~(1ULL << (sector % 64));
  });
}

void Disk::writeBack(File& file) {
  std::vector<uint64_t> some = file.dirty;
  for (uint64_t& word : some) {
    word = word == 0 ? 0 : word & core_.random().next();
  }
  sync(file, some);
}

void Disk::cancel(Pending& pending) {
  // Only what has not reached the device can be stopped; and a sync always has.
  if (pending.op->kind == rt::OpKind::fsync || !core_.random().chance(1, 4)) {
    return;
  }
  std::erase(files_[pending.node]->under_way, &pending);
  std::erase(hanging_, &pending);
  pending.engine->finish(pending, -ECANCELED);
}

void Disk::abandon(Pending& pending) {
  File& file = *files_[pending.node];
  if (pending.op->kind == rt::OpKind::write) {
    putSomeSectors(file, *pending.op);
  }
  std::erase(file.under_way, &pending);
  std::erase(hanging_, &pending);
  pending.engine->finish(pending, -ECANCELED);
}

void Disk::crash() {
  counts_.crashes++;
  hanging_.clear();
  core_.trace(Trace::crash, counts_.crashes);
  for (const std::unique_ptr<File>& file : files_) {
    for (Pending* pending : file->under_way) {
      if (pending->op->kind == rt::OpKind::write) {
        putSomeSectors(*file, *pending->op);
      }
      pending->engine->finish(*pending, -EIO);
    }
    file->under_way.clear();
    const uint64_t of_four = core_.random().below(5);
    std::vector<uint64_t> survivors = file->dirty;
    for (uint64_t& word : survivors) {
      for (uint64_t bits = word; bits != 0; bits &= bits - 1) {
        const uint64_t bit = bits & (~bits + 1);
        word = core_.random().chance(of_four, 4) ? word : word & ~bit;
      }
    }
    sync(*file, survivors);
    std::memcpy(file->visible, file->durable, file->length);
    std::fill(file->dirty.begin(), file->dirty.end(), 0);
    std::fill(file->in_cache.begin(), file->in_cache.end(), 0);
  }
}

}  // namespace sim
