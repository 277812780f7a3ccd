#include "source/cache/ram_tier.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "source/base/check.h"

namespace cache {
namespace {

constexpr uint64_t kTypicalObject_bytes = 4096;
constexpr uint64_t kMinTable = 1024;
constexpr uint64_t kMaxTable = 1 << 22;

size_t slotsFor(uint64_t budget_bytes) {
  return std::bit_ceil(std::clamp(budget_bytes / kTypicalObject_bytes, kMinTable, kMaxTable));
}

store::S3FifoOptions optionsFor(uint64_t budget_bytes) {
  store::S3FifoOptions options;
  options.budget_bytes = budget_bytes;
  options.ghost_entries = static_cast<uint32_t>(
      std::clamp<uint64_t>(budget_bytes / kTypicalObject_bytes, kMinTable, kMaxTable));
  return options;
}

}  // namespace

RamRef::RamRef(RamTier& tier, RamObject& object) : tier_(&tier), object_(&object) {
  object.readers++;
}

RamRef::RamRef(RamRef&& other) noexcept
    : tier_(other.tier_), object_(std::exchange(other.object_, nullptr)) {}

RamRef& RamRef::operator=(RamRef&& other) noexcept {
  if (this != &other) {
    reset();
    tier_ = other.tier_;
    object_ = std::exchange(other.object_, nullptr);
  }
  return *this;
}

void RamRef::reset() {
  if (object_ != nullptr) {
    tier_->release(*std::exchange(object_, nullptr));
  }
}

RamTier::RamTier(uint64_t budget_bytes)
    : policy_(optionsFor(budget_bytes)),
      read_(optionsFor(budget_bytes).ghost_entries, std::max<uint64_t>(budget_bytes, 1)),
      table_(slotsFor(budget_bytes)) {}

RamTier::~RamTier() {
  while (store::RamNode* node = policy_.evict()) {
    auto& object = static_cast<RamObject&>(*node);
    unchain(object);
    CHECK(object.readers == 0);
    destroy(object);
  }
  CHECK(policy_.leavingBytes() == 0);
}

RamObject* RamTier::find(base::Hash128 hash, std::string_view key) {
  for (RamObject* at = chainOf(hash); at != nullptr; at = at->chain) {
    if (at->hash == hash && at->key == key) {
      return at;
    }
  }
  return nullptr;
}

void RamTier::unchain(RamObject& object) {
  RamObject** at = &chainOf(object.hash);
  while (*at != &object) {
    CHECK(*at != nullptr);
    at = &(*at)->chain;
  }
  *at = object.chain;
  object.chain = nullptr;
  object.listed = false;
}

void RamTier::destroy(RamObject& object) {
  const uint64_t bytes = object.bytes;
  object.~RamObject();
  std::free(&object);
  policy_.freed(bytes);
}

void RamTier::release(RamObject& object) {
  CHECK(object.readers > 0);
  if (--object.readers == 0 && !object.listed) {
    destroy(object);
  }
}

bool RamTier::isWorthCopying(base::Hash128 hash, uint64_t bytes) {
  if (read_.take(hash.lo, budgetBytes())) {
    return true;
  }
  read_.insert(hash.lo, bytes);
  return false;
}

void RamTier::dropOutdated(RamObject& object) {
  stats_.outdated++;
  leave(object);
}

void RamTier::dropStripes(uint16_t first, uint16_t count) {
  for (RamObject*& chain : table_) {
    RamObject* next = nullptr;
    for (RamObject* object = chain; object != nullptr; object = next) {
      next = object->chain;
      const uint16_t stripe = base::index(object->stripe);
      if (stripe >= first && stripe - first < count) {
        leave(*object);
      }
    }
  }
}

void RamTier::setBudget(uint64_t bytes) {
  policy_.setBudget(bytes);
  static_cast<void>(makeRoom(0));
  grow();
}

// The chains stay short. Fewer objects do not need a smaller table.
void RamTier::grow() {
  const size_t slots = slotsFor(budgetBytes());
  if (slots <= table_.size()) {
    return;
  }
  std::vector<RamObject*> old(slots);
  old.swap(table_);
  for (RamObject* chain : old) {
    while (chain != nullptr) {
      RamObject& object = *std::exchange(chain, chain->chain);
      RamObject*& first = chainOf(object.hash);
      object.chain = first;
      first = &object;
    }
  }
}

void RamTier::leave(RamObject& object) {
  policy_.remove(&object);
  unchain(object);
  if (object.readers == 0) {
    destroy(object);
  }
}

bool RamTier::makeRoom(uint64_t bytes) {
  while (!policy_.hasRoom(bytes)) {
    store::RamNode* node = policy_.evict();
    if (node == nullptr) {
      return false;  // all that is left is being sent
    }
    stats_.evicted++;
    auto& object = static_cast<RamObject&>(*node);
    unchain(object);
    if (object.readers == 0) {
      destroy(object);
    }
  }
  return true;
}

RamObject* RamTier::insert(const store::RecordView& record, std::span<const std::byte> bytes,
                           const store::Entry& entry, base::StripeId stripe) {
  const uint64_t length = record.bodyAt() + record.body.size();
  const uint64_t total = sizeof(RamObject) + length;
  if (!policy_.accepts(total)) {
    return nullptr;
  }
  std::optional<StoredHead> head;
  if (record.kind() != store::RecordKind::vary_rule) {
    head = decodeMeta(record.meta);
    if (!head.has_value()) {
      return nullptr;
    }
  }
  if (RamObject* old = find(record.hash(), record.key)) {
    leave(*old);
  }
  if (!makeRoom(total)) {
    return nullptr;
  }
  void* memory = std::malloc(total);
  if (memory == nullptr) {
    return nullptr;
  }
  auto* object = ::new (memory) RamObject();
  auto* copy = reinterpret_cast<std::byte*>(object + 1);
  std::memcpy(copy, bytes.data(), length);
  const auto moved = [&](const std::byte* p) { return copy + (p - bytes.data()); };
  object->bytes = total;
  object->fingerprint = record.hash().lo;
  object->hash = record.hash();
  object->entry = entry;
  object->stripe = stripe;
  object->kind = record.kind();
  object->object_id = record.header.object_id;
  object->object_length = record.header.object_length;
  object->key = {
      reinterpret_cast<const char*>(moved(reinterpret_cast<const std::byte*>(record.key.data()))),
      record.key.size()};
  object->meta = {moved(record.meta.data()), record.meta.size()};
  object->body = {copy + record.bodyAt(), record.body.size()};
  if (head.has_value()) {
    object->head = *decodeMeta(object->meta);
  }
  RamObject*& chain = chainOf(object->hash);
  object->chain = chain;
  chain = object;
  object->listed = true;
  policy_.insert(object);
  stats_.inserted++;
  return object;
}

}  // namespace cache
