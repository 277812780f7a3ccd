// Sliced objects (cache/slices.h): before a head goes out, the block that its body begins in is
// awaited, so that an origin which fails, or has another version by now, can still be told from a
// good answer.
#include "source/cache/sliced_body.h"
#include "source/policy/error.h"
#include "source/proxy/session.h"

namespace proxy {

// False: the request was answered otherwise.
rt::Task<bool> Session::openSliced(Request& request, const policy::Lookup& lookup,
                                   cache::Reader& reader) {
  reader.useBlocks(fillRequest(request, lookup));
  base::Status opened = co_await reader.openBlock(scope_);
  if (opened.ok()) {
    notePartial(request, reader.blocks());
    co_return true;
  }
  if (opened.error().blame == base::Blame::upstream) {
    const policy::UpstreamFailure failure = reader.blocks().failure();
    request.outcome.cache = policy::CacheStatus{};
    request.outcome.cache.forward = policy::Forward::partial;
    co_await sendLocal(request, replyFor(policy::onUpstreamError(failure), failure));
    co_return false;
  }
  static_cast<void>(co_await sendRest(request, reader, {}, false, opened.error()));
  co_return false;
}

// RFC 9211 2.2: the cache had a part of it. What was said of the object's own fetch stays.
void Session::notePartial(Request& request, const cache::SlicedBody& blocks) {
  policy::CacheStatus& status = request.outcome.cache;
  if (!blocks.fetched()) {
    return;
  }
  context_.stats.cache_hit_partial += status.hit ? 1 : 0;
  if (status.forward == policy::Forward::none) {
    status.hit = false;
    status.ttl_s.reset();
    status.forward = policy::Forward::partial;
    status.fwd_status = blocks.info().fwd_status;
    status.collapsed = blocks.collapsed();
  }
  status.stored = status.stored || blocks.info().stored;
}

}  // namespace proxy
