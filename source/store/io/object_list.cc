// Listing what a stripe holds, a page at a time: from tables of contents to records, as purges go.
#include <algorithm>
#include <utility>

#include "source/store/io/stripe_store.h"

namespace store {

// The record of a line that the index still leads to; what is in the write buffer is written first.
rt::Task<base::Result<RecordRef>> StripeStore::readCurrent(LineAt at, rt::CancelScope& scope) {
  const std::optional<Entry> entry = shared_.index->find(at.line.hash());
  if (entry.has_value() && entry->inBuffer()) {
    static_cast<void>(co_await log_->flush(reactor_.now() + kDiskPatience_ns));
  }
  const Location place{at.segment.sequence, at.segment.segment, at.line.offset_units,
                       at.line.length_units};
  co_return co_await reader_.read(shared_.recordFile(), place, scope, base::kNever);
}

rt::Task<base::Result<ListPage>> StripeStore::list(ListQuery query, rt::CancelScope& scope) {
  ListPage page;
  if (!ready()) {
    co_return std::move(page);
  }
  std::vector<OpenedSegment> segments;
  for (uint32_t i = 0; i < shared_.table->count(); i++) {
    const uint64_t sequence = shared_.table->sequence(i);
    const bool wanted = !query.selector.has_value() || log_->isRecent(i) ||
                        filters_.mayHave(i, sequence, query.selector->label);
    if (sequence != 0 && sequence >= query.after.sequence && wanted) {
      segments.push_back(OpenedSegment{i, sequence});
    }
  }
  std::sort(segments.begin(), segments.end(),
            [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
  for (size_t i = 0; i < segments.size(); i++) {
    if (i == kListSegments) {
      page.next = LogPosition{segments[i].sequence, 0};
      break;
    }
    base::Result<bool> more = co_await listSegment(segments[i], query, page, scope);
    if (!more.ok()) {
      co_return more.error();
    }
    if (!more.value()) {
      break;
    }
    co_await rt::NextTurn();
  }
  co_return std::move(page);
}

// False when the page is full.
rt::Task<base::Result<bool>> StripeStore::listSegment(OpenedSegment segment, const ListQuery& query,
                                                      ListPage& page, rt::CancelScope& scope) {
  std::vector<LineAt> lines;
  const auto take = [&](OpenedSegment of, const TocEntry& line, std::span<const Label> labels) {
    const bool object =
        line.recordKind() == RecordKind::object || line.recordKind() == RecordKind::head;
    const LogPosition at{of.sequence, line.offset_units};
    if (of.sequence == segment.sequence && object && at > query.after &&
        (!query.selector.has_value() || hasLabel(labels, query.selector->label))) {
      lines.push_back(LineAt{of, line});
    }
  };
  if (log_->isRecent(segment.segment)) {
    log_->eachRecentLine(take);
  } else {
    base::Result<Contents> contents = co_await contentsOf(segment, scope);
    if (!contents.ok()) {
      // Reclaimed meanwhile, or unreadable: nothing can be told of it.
      co_return contents.error().code != base::Code::cancelled
          ? base::Result<bool>(true)
          : base::Result<bool>(contents.error());
    }
    contents.value().each(
        [&](const TocEntry& line, std::span<const Label> labels) { take(segment, line, labels); });
  }
  for (size_t i = 0; i < lines.size(); i++) {
    if (i % kStepLines == kStepLines - 1) {
      co_await rt::NextTurn();
    }
    const LineAt& at = lines[i];
    const std::optional<Entry> entry = shared_.index->find(at.line.hash());
    if (!entry.has_value() || !pointsTo(*entry, at)) {
      continue;
    }
    if (page.records.size() == query.limit) {
      const LineAt& before = lines[i - (i > 0 ? 1 : 0)];
      page.next = LogPosition{segment.sequence, i > 0 ? before.line.offset_units : 0U};
      co_return false;
    }
    base::Result<RecordRef> read = co_await readCurrent(at, scope);
    if (!read.ok() ||
        (query.selector.has_value() && !query.selector->selects(read.value().record()))) {
      continue;
    }
    const RecordView& record = read.value().record();
    ListedRecord listed;
    listed.key = record.key;
    listed.meta.assign(record.meta.begin(), record.meta.end());
    listed.body_bytes = record.header.object_length;
    listed.entry = *entry;
    page.records.push_back(std::move(listed));
  }
  co_return true;
}

}  // namespace store
