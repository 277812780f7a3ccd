// The scrubber: reads what the index leads to, record by record at a given rate, so that what has
// rotted is found before somebody asks for it. A record that is damaged or cannot be read leaves
// the index; the next request fetches it again.
#include <algorithm>
#include <utility>

#include "source/store/io/stripe_store.h"

namespace store {

void StripeStore::setScrubRate(uint64_t bytes_per_s) {
  scrub_rate_ = bytes_per_s;
  scrub_rate_changed_.wakeAll();
}

rt::Task<void> StripeStore::scrubLoop() {
  rt::CancelScope& scope = background_.scope();
  while (!scope.requested()) {
    if (scrub_rate_ == 0) {
      co_await scrub_rate_changed_.wait(scope);
      continue;
    }
    const base::MonoTime begun = reactor_.now();
    for (uint32_t i = 0; i < shared_.table->count() && !scope.requested(); i++) {
      const OpenedSegment segment{i, shared_.table->sequence(i)};
      if (segment.sequence != 0 && !log_->isRecent(i)) {
        co_await scrubSegment(segment, scope);
      }
    }
    scrub_stats_.passes += scope.requested() ? 0 : 1;
    co_await rt::Sleep(std::max(begun + kScrubEvery_ns, reactor_.now()), scope);
  }
}

rt::Task<void> StripeStore::scrubSegment(OpenedSegment segment, rt::CancelScope& scope) {
  base::Result<Contents> contents = co_await contentsOf(segment, scope);
  if (!contents.ok()) {
    // Overwritten meanwhile, or a table of contents that only a purge misses, which then sees to
    // it.
    co_return;
  }
  std::vector<LineAt> lines;
  contents.value().each([&](const TocEntry& line, std::span<const Label>) {
    lines.push_back(LineAt{segment, line});
  });
  for (const LineAt& at : lines) {
    const bool chunk = at.line.recordKind() == RecordKind::chunk;
    const std::optional<Entry> entry = shared_.index->find(at.line.hash());
    const bool wanted =
        entry.has_value() && (chunk ? entry->kind() == EntryKind::extents : pointsTo(*entry, at));
    if (!wanted || scrub_rate_ == 0) {
      continue;
    }
    if (scope.requested() || shared_.table->sequence(segment.segment) != segment.sequence) {
      co_return;
    }
    co_await scrubRecord(at, *entry, scope);
  }
}

rt::Task<void> StripeStore::scrubRecord(LineAt at, Entry entry, rt::CancelScope& scope) {
  const Location place{at.segment.sequence, at.segment.segment, at.line.offset_units,
                       at.line.length_units};
  const uint64_t bytes = uint64_t{place.length_units} * kUnitBytes;
  base::Code code = base::Code::ok;
  {  // gives the memory back before the pause
    base::Result<RecordRef> read = co_await reader_.read(shared_.recordFile(), place, scope,
                                                         reactor_.now() + kDiskPatience_ns);
    code = read.ok() ? base::Code::ok : read.error().code;
  }
  scrub_stats_.records++;
  scrub_stats_.bytes += bytes;
  if (code == base::Code::corrupt || code == base::Code::io_error) {
    scrub_stats_.damaged += code == base::Code::corrupt ? 1 : 0;
    scrub_stats_.unreadable += code == base::Code::io_error ? 1 : 0;
    const bool chunk = at.line.recordKind() == RecordKind::chunk;
    if (!chunk || co_await isPartOf(place, entry, scope)) {
      shared_.index->eraseIf(at.line.hash(), entry);
    }
  }
  const uint64_t rate = std::max<uint64_t>(scrub_rate_, 1);
  co_await rt::Sleep(reactor_.now() + bytes * base::kSecond_ns / rate, scope);
}

// Whether the large object that the entry leads to has a chunk there. One that cannot be read any
// more has, for all that anybody can tell.
rt::Task<bool> StripeStore::isPartOf(Location chunk, Entry entry, rt::CancelScope& scope) {
  base::Result<RecordRef> head = co_await reader_.read(
      shared_.recordFile(), shared_.table->locate(entry), scope, reactor_.now() + kDiskPatience_ns);
  if (!head.ok()) {
    co_return head.error().code == base::Code::corrupt;
  }
  const RecordView& record = head.value().record();
  const base::Result<ExtentTable> extents =
      ExtentTable::parse(record.body, record.header.object_length);
  if (!extents.ok()) {
    co_return true;
  }
  for (uint32_t i = 0; i < extents.value().count(); i++) {
    if (extents.value().at(i).location() == chunk) {
      co_return true;
    }
  }
  co_return false;
}

}  // namespace store
