// The product's disk, without the disk: index, allocator, eviction, reclaim plans and admission are
// the product's own; only what StripeLog does with bytes (store/io/log.cc and reclaim_loop.cc) is
// counted here instead of done. One stripe; reclaim takes no time.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "source/base/check.h"
#include "source/store/core/admission.h"
#include "source/store/core/eviction.h"
#include "source/store/core/extents.h"
#include "source/store/core/index.h"
#include "source/store/core/reclaim.h"
#include "source/store/core/record.h"
#include "source/tools/cachesim/policy.h"

namespace cachesim {
namespace {

constexpr uint32_t kFlush_bytes = 1 << 20;  // StripeLog's slab, after which a page is filled up
constexpr uint32_t kBurst_s = 60;           // of the write budget

uint32_t chunkBody(uint32_t segment_bytes) {
  return std::min<uint32_t>(508 << 10, store::maxChunkBody(segment_bytes));
}

store::EvictionOptions evictionFor(const CacheSize& size, uint32_t segments) {
  store::EvictionOptions options;
  options.segment_bytes = size.segment_bytes;
  options.segment_count = segments;
  options.ghost_entries = std::max(size.objects, 1u);
  return options;
}

store::AllocatorOptions allocatorFor(const CacheSize& size) {
  store::AllocatorOptions options;
  options.segment_bytes = size.segment_bytes;
  return options;
}

store::AdmissionOptions admissionFor(const PolicyOptions& options) {
  store::AdmissionOptions admission;
  admission.keys = std::max(options.size.objects, 1u);
  admission.second_request = options.second_request;
  admission.write_bytes_per_s = options.write_bytes_per_s;
  admission.burst_bytes = options.write_bytes_per_s * kBurst_s;
  return admission;
}

class Segments : public Policy {
 public:
  Segments(const PolicyOptions& options, uint32_t segments)
      : size_(options.size),
        table_(segments),
        index_(std::move(
            store::IndexShard::create(store::IndexOptions{uint64_t{size_.objects} + 64, 0}, table_)
                .value())),
        allocator_(allocatorFor(size_), table_),
        eviction_(evictionFor(size_, segments)),
        admission_(admissionFor(options)),
        contents_(segments) {}

  bool request(const Request& request) override {
    const base::Hash128 hash =
        base::hash128({reinterpret_cast<const char*>(&request.object), sizeof request.object}, 0);
    if (index_->find(hash).has_value()) {
      index_->touch(hash);
      return true;
    }
    admission_.noteRequest(hash);
    const uint64_t bytes = storedBytes(request.bytes, size_.segment_bytes);
    if (admission_.decide(hash, false, bytes, request.time_s) != store::Admit::admitted) {
      return false;
    }
    now_s_ = request.time_s;
    if (store(hash, request.bytes)) {
      stored_ += bytes;
    }
    return false;
  }
  uint64_t storedTotal() const override { return stored_; }
  uint64_t writtenTotal() const override { return written_; }

 private:
  bool store(base::Hash128 hash, uint32_t body_bytes);
  void fresh(const store::TocEntry& line) {
    eviction_.earn(uint64_t{line.length_units} * store::kUnitBytes);
    reclaim();
  }
  std::optional<store::Location> append(store::TocEntry line);
  void publish(const store::TocEntry& line, const store::Location& at, uint8_t frequency);
  void seal();
  void flush();
  void reclaim();
  void reclaimLarge(store::ReclaimInput& input, const store::LargeObject& object);
  bool moveLarge(const store::ReclaimInput& input, const store::LargeObject& object,
                 uint8_t frequency);

  CacheSize size_;
  store::SegmentTable table_;
  std::unique_ptr<store::IndexShard> index_;
  store::SegmentAllocator allocator_;
  store::Eviction eviction_;
  store::Admission admission_;
  std::vector<std::vector<store::TocEntry>> contents_;      // by segment
  std::map<uint64_t, std::vector<store::Extent>> extents_;  // by object id
  std::map<uint64_t, uint64_t> lengths_;                    // of large bodies, by object id
  std::map<base::Hash128, uint64_t> large_ids_;             // the version that the index has
  uint64_t object_ids_ = 0;
  uint32_t unflushed_ = 0;
  uint32_t now_s_ = 0;
  uint64_t stored_ = 0;
  uint64_t written_ = 0;
};

store::TocEntry lineOf(base::Hash128 hash, store::RecordKind kind, uint64_t record_bytes) {
  store::TocEntry line;
  line.hash_hi = hash.hi;
  line.hash_lo = hash.lo;
  line.kind = static_cast<uint8_t>(kind);
  line.expires_s = UINT32_MAX;
  line.length_units = static_cast<uint16_t>(record_bytes / store::kUnitBytes);
  line.label_count = kind == store::RecordKind::chunk ? 0 : kLabels;
  return line;
}

void Segments::flush() {
  const uint32_t pad = allocator_.padUnits() * store::kUnitBytes;
  if (pad > 0 && allocator_.reserve(pad, 0, false).has_value()) {
    written_ += pad;
  }
  unflushed_ = 0;
}

void Segments::seal() {
  flush();
  written_ += store::footerBytes(allocator_.entries(), allocator_.labels());
  allocator_.sealed(allocator_.seal().segment);
}

std::optional<store::Location> Segments::append(store::TocEntry line) {
  const uint32_t bytes = line.length_units * store::kUnitBytes;
  while (true) {
    if (!allocator_.hasOpen()) {
      const auto opened = allocator_.open(eviction_.queueToOpen(allocator_));
      if (!opened.has_value()) {
        return std::nullopt;
      }
      contents_[opened->segment].clear();
      written_ += store::kSegmentHeaderBytes;
    }
    if (unflushed_ + bytes > kFlush_bytes) {
      flush();
    }
    const std::optional<store::Location> at = allocator_.reserve(bytes, line.label_count);
    if (!at.has_value()) {
      seal();
      continue;
    }
    line.offset_units = static_cast<uint16_t>(at->offset_units);
    contents_[at->segment].push_back(line);
    unflushed_ += bytes;
    written_ += bytes;
    return at;
  }
}

void Segments::publish(const store::TocEntry& line, const store::Location& at, uint8_t frequency) {
  store::EntryFields fields;
  fields.kind = line.recordKind() == store::RecordKind::head ? store::EntryKind::extents
                                                             : store::EntryKind::object;
  fields.segment = at.segment;
  fields.offset_units = at.offset_units;
  fields.length_units = at.length_units;
  fields.expiry = index_->expiryFor(line.expires_s);
  fields.generation = store::generationOf(at.sequence);
  fields.frequency = frequency;
  index_->publish(line.hash(), store::Entry::make(line.hash(), fields));
}

bool Segments::store(base::Hash128 hash, uint32_t body_bytes) {
  const uint8_t frequency = eviction_.welcome(hash);
  if (body_bytes <= store::kMaxObjectBody) {
    const store::TocEntry line = lineOf(hash, store::RecordKind::object,
                                        store::recordBytes(kKeyBytes, kMetaBytes, body_bytes));
    const std::optional<store::Location> at = append(line);
    if (at.has_value()) {
      publish(line, *at, frequency);
      fresh(line);
    }
    return at.has_value();
  }
  const uint64_t id = ++object_ids_;
  std::vector<store::Extent> extents;
  const uint32_t step = chunkBody(size_.segment_bytes);
  for (uint64_t from = 0; from < body_bytes; from += step) {
    const auto body = static_cast<uint32_t>(std::min<uint64_t>(step, body_bytes - from));
    store::TocEntry line = lineOf(hash, store::RecordKind::chunk, store::recordBytes(0, 0, body));
    line.object_id = id;
    line.chunk_number = static_cast<uint32_t>(extents.size());
    const std::optional<store::Location> at = append(line);
    if (!at.has_value()) {
      return false;
    }
    extents.push_back({at->sequence, from, at->segment, static_cast<uint16_t>(at->offset_units),
                       static_cast<uint16_t>(at->length_units)});
    fresh(line);
  }
  store::TocEntry head =
      lineOf(hash, store::RecordKind::head,
             store::recordBytes(kKeyBytes, kMetaBytes,
                                store::extentsBytes(static_cast<uint32_t>(extents.size()))));
  head.object_id = id;
  const std::optional<store::Location> at = append(head);
  if (!at.has_value()) {
    return false;
  }
  extents_[id] = std::move(extents);
  lengths_[id] = body_bytes;
  large_ids_[hash] = id;
  publish(head, *at, frequency);
  fresh(head);
  return true;
}

void Segments::reclaim() {
  while (std::optional<store::ReclaimInput> input = eviction_.next(allocator_, now_s_)) {
    const std::vector<store::TocEntry> toc = contents_[input->segment];
    const store::ReclaimPlan plan = store::planReclaim(*input, toc, *index_);
    for (const store::ReclaimPlan::Drop& drop : plan.drop) {
      index_->eraseIf(drop.hash, drop.entry);
      eviction_.dropped(drop.hash, drop.entry,
                        uint64_t{drop.entry.lengthUnits()} * store::kUnitBytes, *input);
    }
    for (const store::Reinsertion& what : plan.reinsert) {
      const std::optional<store::Location> at = append(what.line);
      if (at.has_value()) {
        publish(what.line, *at, what.frequency);
        eviction_.spend(uint64_t{what.line.length_units} * store::kUnitBytes);
      } else {
        index_->eraseIf(what.line.hash(), what.entry);
      }
    }
    input->budget_bytes = plan.budget_bytes;
    for (const store::LargeObject& object : plan.large) {
      reclaimLarge(*input, object);
    }
    allocator_.beginReclaim(input->segment);
    allocator_.finishReclaim(input->segment);
  }
}

void Segments::reclaimLarge(store::ReclaimInput& input, const store::LargeObject& object) {
  const auto known = large_ids_.find(object.hash);
  CHECK(known != large_ids_.end());
  const uint64_t id = known->second;
  std::vector<std::byte> body;
  CHECK(store::encodeExtents(extents_[id], lengths_[id], body).ok());
  const auto table = store::ExtentTable::parse(body, lengths_[id]);
  CHECK(table.ok());
  const store::LargeOutcome outcome = store::decideLarge(object, id, table.value(), input, table_);
  bool kept = outcome.decision == store::LargeDecision::ignore;
  if (outcome.decision == store::LargeDecision::keep) {
    kept = moveLarge(input, object, outcome.frequency);
    input.budget_bytes -= std::min(input.budget_bytes, object.bytes);
    eviction_.spend(object.bytes);
  }
  if (!kept && index_->eraseIf(object.hash, object.head)) {
    eviction_.dropped(object.hash, object.head, object.bytes, input);
    extents_.erase(id);
    lengths_.erase(id);
    large_ids_.erase(known);
  }
}

bool Segments::moveLarge(const store::ReclaimInput& input, const store::LargeObject& object,
                         uint8_t frequency) {
  std::vector<store::Extent>& extents = extents_[object.object_id];
  for (const store::TocEntry& line : object.chunks) {
    const std::optional<store::Location> at = append(line);
    if (!at.has_value()) {
      return false;
    }
    store::Extent& extent = extents[line.chunk_number];
    extent.sequence = at->sequence;
    extent.segment = at->segment;
    extent.offset_units = static_cast<uint16_t>(at->offset_units);
    extent.length_units = static_cast<uint16_t>(at->length_units);
  }
  store::TocEntry head =
      lineOf(object.hash, store::RecordKind::head,
             store::recordBytes(kKeyBytes, kMetaBytes,
                                store::extentsBytes(static_cast<uint32_t>(extents.size()))));
  head.object_id = object.object_id;
  const std::optional<store::Location> at = append(head);
  if (!at.has_value() || input.sequence == 0) {
    return false;
  }
  publish(head, *at, frequency);
  return true;
}

}  // namespace

uint64_t storedBytes(uint32_t body_bytes, uint32_t segment_bytes) {
  if (body_bytes <= store::kMaxObjectBody) {
    return store::recordBytes(kKeyBytes, kMetaBytes, body_bytes);
  }
  const uint32_t step = chunkBody(segment_bytes);
  const uint32_t chunks = body_bytes / step;
  const uint32_t rest = body_bytes % step;
  return uint64_t{chunks} * store::recordBytes(0, 0, step) +
         (rest > 0 ? store::recordBytes(0, 0, rest) : 0) +
         store::recordBytes(kKeyBytes, kMetaBytes,
                            store::extentsBytes(chunks + (rest > 0 ? 1 : 0)));
}

std::unique_ptr<Policy> makeSegments(const PolicyOptions& options) {
  const uint64_t segments = options.size.bytes / options.size.segment_bytes;
  if (segments < store::kMinSegments || segments > store::kMaxSegments) {
    return nullptr;
  }
  return std::make_unique<Segments>(options, static_cast<uint32_t>(segments));
}

}  // namespace cachesim
