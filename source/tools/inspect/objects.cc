#include "source/tools/inspect/objects.h"

#include <algorithm>
#include <optional>

#include "source/cache/labels.h"
#include "source/cache/object.h"
#include "source/cache/slices.h"
#include "source/store/core/extents.h"
#include "source/store/core/purge_set.h"

namespace inspect {
namespace {

// Reads and verifies one record; `bytes` holds what the view points to.
std::optional<store::RecordView> readRecord(const Stripe& stripe, const store::Location& at,
                                            std::vector<std::byte>& bytes) {
  const store::Superblock& s = stripe.superblock;
  const uint64_t offset = uint64_t{at.offset_units} * store::kUnitBytes;
  bytes.resize(size_t{at.length_units} * store::kUnitBytes);
  if (at.segment >= s.segment_count || offset + bytes.size() > s.segment_bytes ||
      !stripe.data.readAt(store::segmentOffset(at.segment, s.segment_bytes) + offset, bytes)) {
    return std::nullopt;
  }
  base::Result<store::RecordView> view =
      store::decodeRecord(bytes, {at.sequence, at.offset_units, s.salt()});
  return view.ok() ? std::optional(view.value()) : std::nullopt;
}

// The body of a large object, chunk by chunk.
std::string readChunks(const Stripe& stripe, const store::RecordView& head,
                       std::vector<std::byte>& body) {
  const auto table = store::ExtentTable::parse(head.body, head.header.object_length);
  if (!table.ok()) {
    return "its table of extents does not verify";
  }
  for (uint32_t i = 0; i < table.value().count(); i++) {
    std::vector<std::byte> bytes;
    const auto chunk = readRecord(stripe, table.value().at(i).location(), bytes);
    if (!chunk.has_value() || !chunk->isChunk(head.hash(), head.header.object_id, i)) {
      return "chunk " + std::to_string(i) + " of " + std::to_string(table.value().count()) +
             " is damaged or was overwritten";
    }
    body.insert(body.end(), chunk->body.begin(), chunk->body.end());
  }
  return {};
}

std::string hex(store::Label label) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    text += kDigits[(label >> shift) & 15];
  }
  return text;
}

// What the labels of a record stand for, in their order. `tags` are joined by line feeds.
std::vector<std::string> nameLabels(std::span<const store::Label> labels, std::string_view key,
                                    std::string_view tags, uint64_t seed) {
  // A variant's key goes on behind a line feed.
  const std::string_view primary = key.substr(0, key.find('\n'));
  std::map<store::Label, std::string> names;
  for (const std::string_view directory : cache::directoriesOf(primary)) {
    names[cache::directoryLabel(directory, seed)] = "directory:" + std::string(directory);
  }
  while (!tags.empty()) {
    const std::string_view tag = tags.substr(0, tags.find('\n'));
    names[cache::tagLabel(tag, seed)] = "tag:" + std::string(tag);
    tags.remove_prefix(std::min(tag.size() + 1, tags.size()));
  }
  std::vector<std::string> named;
  for (const store::Label label : labels) {
    const auto known = names.find(label);
    named.push_back(known != names.end() ? known->second : hex(label));
  }
  return named;
}

}  // namespace

std::string_view Object::freshness(base::UnixSeconds now) const {
  if (kind == store::RecordKind::vary_rule) {
    return "-";
  }
  return purged_softly ? "purged" : now.s < int64_t{expires_s} ? "fresh" : "stale";
}

void Collector::seen(const Stripe& stripe, const FoundRecord& record) {
  const store::RecordView& view = record.view;
  if (view.kind() == store::RecordKind::chunk || view.kind() == store::RecordKind::pad) {
    return;
  }
  const uint32_t number = stripe.superblock.stripe;
  Object& object = newest_[{number, view.hash()}];
  if (!object.key.empty() && object.at.position() > record.at.position()) {
    return;
  }
  object = Object{};
  object.key = view.key;
  object.kind = view.kind();
  object.stripe = number;
  object.at = record.at;
  object.length = view.header.object_length;
  object.stored_s = view.header.written_s;
  object.expires_s = view.header.expires_s;
  const std::optional<cache::StoredHead> head =
      view.kind() == store::RecordKind::vary_rule ? std::nullopt : cache::decodeMeta(view.meta);
  object.labels = store::unpackLabels(view.labels);
  object.label_names =
      nameLabels(object.labels, view.key, head.has_value() ? head->tags : std::string_view(),
                 stripe.superblock.hash_seed);
  if (head.has_value()) {
    object.status = head->status;
    object.birth_s = head->times.birth_s;
    object.expires_s = head->times.fresh_until_s;
  }
}

void Collector::purge(const Stripe& stripe, const store::JournalRead& journal) {
  store::PurgeSet purges;
  purges.addAll(journal.records);
  const uint32_t number = stripe.superblock.stripe;
  for (auto at = newest_.lower_bound({number, base::Hash128{}});
       at != newest_.end() && at->first.first == number;) {
    const store::LogPosition position = at->second.at.position();
    const auto verdict = store::PurgeSet::worse(purges.verdict(at->first.second, position),
                                                purges.labelVerdict(at->second.labels, position));
    at->second.purged_softly = verdict == store::PurgeVerdict::stale;
    at = verdict == store::PurgeVerdict::drop ? newest_.erase(at) : std::next(at);
  }
}

std::vector<Object> Collector::take() {
  std::vector<Object> objects;
  for (auto& [id, object] : newest_) {
    objects.push_back(std::move(object));
  }
  newest_.clear();
  std::sort(objects.begin(), objects.end(), [](const Object& a, const Object& b) {
    return a.key != b.key ? a.key < b.key : a.stripe < b.stripe;
  });
  return objects;
}

namespace {

// The body of a sliced object, if all its blocks are there.
std::string readBlocks(const Stripe& stripe, const Object& object, std::span<const std::byte> table,
                       std::span<const Object> all, std::vector<std::byte>& body) {
  const std::optional<cache::SliceTable> slices = cache::decodeSliceTable(table);
  if (!slices.has_value()) {
    return "its table of slices makes no sense";
  }
  const uint64_t last = slices->layout.indexOf(slices->layout.length - 1);
  for (uint64_t block = 0; block <= last; block++) {
    const std::string key = cache::blockKey(object.key, slices->id, block);
    const auto at = std::ranges::find_if(
        std::ranges::lower_bound(all, key, {}, &Object::key), all.end(),
        [&](const Object& one) { return one.key != key || one.stripe == object.stripe; });
    const std::string what = "block " + std::to_string(block) + " of " + std::to_string(last + 1);
    if (at == all.end() || at->key != key) {
      return what + " is not in the cache";
    }
    const Extracted piece = extract(stripe, *at, all);
    if (!piece.error.empty() || piece.body.size() != slices->layout.rangeOf(block).length()) {
      return what + ": " + (piece.error.empty() ? "of another length" : piece.error);
    }
    body.insert(body.end(), piece.body.begin(), piece.body.end());
  }
  return {};
}

}  // namespace

Extracted extract(const Stripe& stripe, const Object& object, std::span<const Object> all) {
  Extracted extracted;
  std::vector<std::byte> bytes;
  const std::optional<store::RecordView> record = readRecord(stripe, object.at, bytes);
  if (!record.has_value() || record->key != object.key) {
    extracted.error = "its record is damaged or was overwritten";
    return extracted;
  }
  const std::optional<cache::StoredHead> head = cache::decodeMeta(record->meta);
  if (record->kind() == store::RecordKind::vary_rule || !head.has_value()) {
    extracted.error = "it is no response but the rule by which the key has variants";
    return extracted;
  }
  extracted.head = head->text;
  if (head->sliced) {
    extracted.error = readBlocks(stripe, object, record->body, all, extracted.body);
  } else if (record->kind() == store::RecordKind::head) {
    extracted.error = readChunks(stripe, *record, extracted.body);
  } else {
    extracted.body.assign(record->body.begin(), record->body.end());
  }
  return extracted;
}

Inventory takeInventory(const Directory& directory) {
  Inventory inventory;
  Collector collector;
  for (const Stripe& stripe : directory.stripes) {
    checkSuperblock(stripe, inventory.findings);
    walkSegments(directory, stripe, collector, inventory.findings);
    walkSnapshots(directory, stripe, inventory.findings);
    const std::optional<store::JournalRead> journal =
        walkJournals(directory, stripe, inventory.findings);
    if (journal.has_value()) {
      collector.purge(stripe, *journal);
    }
  }
  inventory.objects = collector.take();
  return inventory;
}

}  // namespace inspect
