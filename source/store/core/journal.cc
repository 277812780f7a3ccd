#include "source/store/core/journal.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "source/base/check.h"
#include "source/base/crc32c.h"

namespace store {
namespace {

constexpr uint32_t kHeaderMagic = 0x484a4652;   // "RFJH"
constexpr uint32_t kRecordMagic = 0x314a4652;   // "RFJ1"
constexpr uint32_t kGivenUpMagic = 0x584a4652;  // "RFJX"

struct HeaderLayout {
  uint32_t magic;
  uint16_t version;
  uint16_t reserved;
  uint64_t generation;
  uint64_t first_number;
  uint32_t created_s;
  uint32_t initial_records;
  uint32_t reserved2;
  uint32_t crc;  // of the 512 bytes without this field
};
static_assert(sizeof(HeaderLayout) == 40);

struct RecordLayout {
  uint32_t magic;
  uint16_t version;
  uint8_t kind;
  uint8_t soft;
  uint64_t number;
  uint64_t hash_hi;
  uint64_t hash_lo;
  uint64_t sequence;
  uint32_t offset_units;
  uint32_t time_s;
  uint32_t batch_index;
  uint32_t reserved;
  uint32_t reserved2;
  uint32_t crc;  // of the record without this field
};
static_assert(sizeof(RecordLayout) == kJournalRecordBytes);

base::Error corrupt() {
  return base::Error{base::Code::corrupt, base::Blame::disk};
}

uint32_t headerCrc(std::span<const std::byte> block, uint32_t salt) {
  constexpr size_t kAt = offsetof(HeaderLayout, crc);
  return base::crc32c(block.subspan(kAt + 4), base::crc32c(block.first(kAt), salt));
}

// The bad slots inside the last append. A crash may leave any part of an append that nobody was
// told of; once another append follows, what is missing was lost.
struct BatchHoles {
  uint32_t slots = 0;
  uint64_t first = 0;  // the number of the first

  // `record` is behind `bad` bad slots, which would have begun with the number `expected`. How many
  // slots are now known to be lost.
  uint32_t lostBefore(const PurgeRecord& record, uint64_t expected, uint32_t bad) {
    const uint64_t batch = record.number - record.batch_index;
    uint32_t lost = 0;
    if (slots > 0 && batch > first) {
      lost = std::exchange(slots, 0);
    }
    if (bad > 0 && batch <= expected) {
      first = slots == 0 ? expected : first;
      slots += bad;
      bad = 0;
    }
    return lost + bad;
  }
};

bool blank(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

void encodeJournalHeader(std::span<std::byte> out, const JournalHeader& header, uint32_t salt) {
  CHECK(out.size() >= kJournalHeaderBytes);
  const std::span<std::byte> block = out.first(kJournalHeaderBytes);
  std::fill(block.begin(), block.end(), std::byte{0});
  HeaderLayout layout{};
  layout.magic = kHeaderMagic;
  layout.version = kJournalVersion;
  layout.generation = header.generation;
  layout.first_number = header.first_number;
  layout.created_s = header.created_s;
  layout.initial_records = header.initial_records;
  storeStruct(block, layout);
  layout.crc = headerCrc(block, salt);
  storeStruct(block, layout);
}

base::Result<JournalHeader> decodeJournalHeader(std::span<const std::byte> bytes, uint32_t salt) {
  if (bytes.size() < kJournalHeaderBytes) {
    return corrupt();
  }
  const auto layout = loadStruct<HeaderLayout>(bytes);
  if (layout.magic != kHeaderMagic || layout.version != kJournalVersion ||
      layout.crc != headerCrc(bytes.first(kJournalHeaderBytes), salt)) {
    return corrupt();
  }
  return JournalHeader{layout.generation, layout.first_number, layout.created_s,
                       layout.initial_records};
}

void encodeGivenUp(std::span<std::byte> out, uint32_t salt) {
  encodeJournalHeader(out, JournalHeader{}, salt);
  const std::span<std::byte> block = out.first(kJournalHeaderBytes);
  auto layout = loadStruct<HeaderLayout>(block);
  layout.magic = kGivenUpMagic;
  storeStruct(block, layout);
  layout.crc = headerCrc(block, salt);
  storeStruct(block, layout);
}

bool isGivenUp(std::span<const std::byte> file, uint32_t salt) {
  if (file.size() < kJournalHeaderBytes) {
    return false;
  }
  const auto layout = loadStruct<HeaderLayout>(file);
  return layout.magic == kGivenUpMagic && layout.version == kJournalVersion &&
         layout.crc == headerCrc(file.first(kJournalHeaderBytes), salt);
}

void encodePurge(std::span<std::byte> out, const PurgeRecord& record, uint32_t salt) {
  CHECK(out.size() >= kJournalRecordBytes);
  RecordLayout layout{};
  layout.magic = kRecordMagic;
  layout.version = kJournalVersion;
  layout.kind = static_cast<uint8_t>(record.kind);
  layout.soft = record.soft ? 1 : 0;
  layout.number = record.number;
  layout.hash_hi = record.hash.hi;
  layout.hash_lo = record.hash.lo;
  layout.sequence = record.before.sequence;
  layout.offset_units = record.before.offset_units;
  layout.time_s = record.time_s;
  layout.batch_index = record.batch_index;
  storeStruct(out, layout);
  layout.crc = base::crc32c(out.first(offsetof(RecordLayout, crc)), salt);
  storeStruct(out, layout);
}

base::Result<PurgeRecord> decodePurge(std::span<const std::byte> slot, uint32_t salt) {
  if (slot.size() < kJournalRecordBytes) {
    return corrupt();
  }
  const auto layout = loadStruct<RecordLayout>(slot);
  if (layout.magic != kRecordMagic || layout.version != kJournalVersion || layout.soft > 1 ||
      layout.crc != base::crc32c(slot.first(offsetof(RecordLayout, crc)), salt)) {
    return corrupt();
  }
  PurgeRecord record;
  record.kind = static_cast<PurgeKind>(layout.kind);
  if (record.kind != PurgeKind::key && record.kind != PurgeKind::everything &&
      record.kind != PurgeKind::label) {
    return corrupt();
  }
  record.soft = layout.soft != 0;
  record.number = layout.number;
  record.hash = base::Hash128{layout.hash_hi, layout.hash_lo};
  record.before = LogPosition{layout.sequence, layout.offset_units};
  record.time_s = layout.time_s;
  record.batch_index = layout.batch_index;
  return record;
}

base::Result<JournalRead> decodeJournal(std::span<const std::byte> file, uint32_t salt) {
  const base::Result<JournalHeader> header = decodeJournalHeader(file, salt);
  if (!header.ok()) {
    return header.error();
  }
  JournalRead read;
  read.header = header.value();
  read.next_number = read.header.first_number;
  read.valid_bytes = kJournalHeaderBytes;
  uint32_t pending_bad = 0;  // slots since the last record of this file
  bool pending_torn = false;
  bool ended = false;  // an empty slot or a record of the file's former use
  BatchHoles holes;
  size_t at = kJournalHeaderBytes;
  for (uint64_t slot = 0; at < file.size(); slot++, at += kJournalRecordBytes) {
    const auto bytes = file.subspan(at, std::min<size_t>(kJournalRecordBytes, file.size() - at));
    const base::Result<PurgeRecord> record = decodePurge(bytes, salt);
    if (!record.ok() || record.value().number != read.header.first_number + slot) {
      pending_bad++;
      ended = ended || record.ok() || blank(bytes);
      pending_torn = pending_torn || (!ended && !blank(bytes));
      continue;
    }
    const uint32_t lost = holes.lostBefore(record.value(), read.next_number, pending_bad);
    if (lost > 0) {
      read.damaged_slots += lost;
      read.lost_before = std::max(read.lost_before, record.value().before);
    }
    if (pending_bad > 0) {
      pending_bad = 0;
      pending_torn = false;
      ended = false;
    }
    read.records.push_back(record.value());
    read.next_number = record.value().number + 1;
    read.valid_bytes = at + kJournalRecordBytes;
  }
  read.torn_tail = pending_torn || holes.slots > 0;
  if (read.next_number - read.header.first_number < read.header.initial_records) {
    return corrupt();
  }
  if (read.damaged_slots > 0) {
    PurgeRecord stand_in;
    stand_in.kind = PurgeKind::everything;
    stand_in.number = read.next_number;
    stand_in.before = read.lost_before;
    read.records.push_back(stand_in);
  }
  return read;
}

std::vector<PurgeRecord> compactJournal(std::span<const PurgeRecord> records,
                                        uint64_t oldest_live_sequence, uint64_t first_number) {
  struct Newest {
    const PurgeRecord* hard = nullptr;
    const PurgeRecord* soft = nullptr;
  };
  const auto take = [](Newest& newest, const PurgeRecord& record) {
    const PurgeRecord*& slot = record.soft ? newest.soft : newest.hard;
    if (slot == nullptr || slot->before < record.before) {
      slot = &record;
    }
  };
  Newest everything;
  std::map<std::pair<PurgeKind, base::Hash128>, Newest> named;
  for (const PurgeRecord& record : records) {
    // A record in the oldest live segment is the first that still could come back.
    if (record.before <= LogPosition{oldest_live_sequence, kPageBytes / kUnitBytes}) {
      continue;
    }
    take(record.kind == PurgeKind::everything ? everything : named[{record.kind, record.hash}],
         record);
  }
  // A purge adds something if no stronger or equal one reaches as far.
  const auto reaches = [](const PurgeRecord* by, const PurgeRecord* record) {
    return by != nullptr && by != record && by->before >= record->before;
  };
  std::vector<PurgeRecord> kept;
  const auto keep = [&](const Newest& newest) {
    if (newest.hard != nullptr && !reaches(everything.hard, newest.hard)) {
      kept.push_back(*newest.hard);
    }
    if (newest.soft != nullptr && !reaches(newest.hard, newest.soft) &&
        !reaches(everything.hard, newest.soft) && !reaches(everything.soft, newest.soft)) {
      kept.push_back(*newest.soft);
    }
  };
  keep(everything);
  for (const auto& [name, newest] : named) {
    keep(newest);
  }
  std::sort(kept.begin(), kept.end(), [](const PurgeRecord& a, const PurgeRecord& b) {
    return std::tie(a.before, a.number) < std::tie(b.before, b.number);
  });
  for (PurgeRecord& record : kept) {
    record.number = first_number++;
    record.batch_index = 0;
  }
  return kept;
}

}  // namespace store
