// Listing what a stripe holds, which waits neither for ever nor in any number for a disk that
// hangs.
#include <algorithm>
#include <utility>

#include "source/cache/labels.h"
#include "source/cache/stripe.h"
#include "source/http/codec.h"

namespace cache {
namespace {

// Of the content, as the head says it.
uint64_t lengthOf(const StoredHead& head) {
  http::ResponseHead parsed;
  const http::Limits any{UINT32_MAX, UINT16_MAX, UINT32_MAX};
  const http::ParseOutcome outcome = http::parseResponseHead(head.text, any, parsed);
  return std::holds_alternative<http::Parsed>(outcome) ? http::contentLength(parsed).value_or(0)
                                                       : 0;
}

void take(const store::ListPage& page, ListCall& call) {
  for (const store::ListedRecord& record : page.records) {
    const std::optional<StoredHead> head = decodeMeta(record.meta);
    if (!head.has_value()) {
      continue;
    }
    if (record.key.ends_with(kPartialMark) || isBlockKey(record.key)) {
      continue;  // no object yet, or a piece of one
    }
    ListedObject object;
    const size_t end = std::min(record.key.find('\n'), record.key.size());
    object.key = record.key.substr(0, end);
    object.variant = record.key.substr(std::min(end + 1, record.key.size()));
    object.status = head->status;
    object.body_bytes = head->sliced ? lengthOf(*head) : record.body_bytes;
    object.times = head->times;
    object.hits = record.entry.frequency();
    object.stale_now = record.entry.staleNow();
    object.tags = head->tags;
    call.objects.push_back(std::move(object));
  }
  call.next = page.next;
}

}  // namespace

void Stripe::list(ListCall& call) {
  if (listing_.size() >= kMaxLists) {
    stats_.lists_refused++;
    call.error = base::Error{base::Code::no_capacity, base::Blame::disk};
    return services_.peers->reply(call);
  }
  ListWork& work = *listing_.emplace(++list_number_, std::make_unique<ListWork>()).first->second;
  work.number = list_number_;
  if (call.selector != nullptr) {
    work.query.selector = *call.selector;
  }
  work.query.after = call.after;
  work.query.limit = call.limit;
  spawn(runList(&work));
  spawn(serveList(&call, &work));
}

// At most one of the two is there when the work goes: it is left, or has been done.
rt::Task<void> Stripe::serveList(ListCall* call, ListWork* work) {
  const base::MonoTime deadline = mono() + kListPatience_ns;
  rt::CancelScope never;
  auto how = rt::WaitQueue::Woken::by_wake;
  while (!work->done && how == rt::WaitQueue::Woken::by_wake) {
    how = co_await work->end.wait(never, deadline);
  }
  if (!work->done) {
    stats_.lists_late++;
    work->left = true;
    call->error = base::Error{base::Code::timeout, base::Blame::disk};
  } else {
    if (work->page.ok()) {
      take(work->page.value(), *call);
    } else {
      call->error = work->page.error();
    }
    listing_.erase(work->number);
  }
  services_.peers->reply(*call);
}

rt::Task<void> Stripe::runList(ListWork* work) {
  co_await awaitRecovery(kListPatience_ns);
  if (!work->left) {
    base::Result<store::ListPage> page = co_await store_.list(work->query, serving_.scope());
    work->page = std::move(page);
  }
  work->done = true;
  if (work->left) {
    listing_.erase(work->number);
  } else {
    work->end.wakeAll();
  }
}

}  // namespace cache
