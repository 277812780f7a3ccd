// Who waits for a fill, and what each of them is given of its head.
#include <algorithm>
#include <utility>

#include "source/cache/fill.h"
#include "source/cache/stripe.h"
#include "source/policy/serve.h"

namespace cache {
namespace {

// Whether a response that was there before the request may answer it as a stored one would: it may
// ask for validation, or the request for something newer (RFC 9111 4, 5.2.1, 5.2.2.4).
bool answers(const http::Fields& request, const StoredHead& head, const policy::RoutePolicy& route,
             base::UnixSeconds now) {
  const policy::RequestDirectives asked = policy::parseRequestDirectives(request);
  return policy::decideServe(asked, head.times, head.traits, route, now).how ==
         policy::Serve::fresh;
}

}  // namespace

void Fill::subscribe(Subscription& subscription, bool leader) {
  subscription.fill = this;
  subscription.leader = leader;
  subscription.position = 0;
  readers_.push_back(&subscription);
  subscribers_++;
  if (!has_head_) {
    subscription.awaited = true;
    crowd_.join();
  }
}

void Fill::noLongerAwaited(Subscription& subscription) {
  if (std::exchange(subscription.awaited, false) && crowd_.served()) {
    wake();
  }
}

void Fill::leave(Subscription& subscription) {
  if (subscription.held != nullptr) {
    FillPart* part = std::exchange(subscription.held, nullptr);
    if (--part->readers == 0 && part->retired) {
      delete part;
    }
  }
  readers_.erase(std::find(readers_.begin(), readers_.end(), &subscription));
  subscription.fill = nullptr;
  subscribers_--;
  noLongerAwaited(subscription);
  // Nobody takes the leader's place: a response that is not stored answers its request, which may
  // have its cookies or credentials. Who else waits is released at the head then.
  if (abandoned()) {
    scope_.request();
  }
  wake();
  stripe_.reap(*this);  // may be the end of this object
}

bool Fill::joinable(base::UnixSeconds now) const {
  const bool fresh = !has_head_ || info_.head.times.fresh_until_s > policy::clampSeconds(now.s);
  return !ended_ && !detached_ && fresh && subscribers_ < kWaiters;
}

bool Fill::concernedBy(std::string_view key) const {
  return primary_key_ == key || (by_path_ && pathOfKey(asked_) == pathOfKey(key));
}

bool Fill::selectedBy(const store::Selector& selector) const {
  return store::hasLabel(labels_, selector.label) &&
         (std::string_view(primary_key_).starts_with(selector.key_prefix) ||
          std::string_view(asked_).starts_with(selector.key_prefix));
}

// Nobody waits, and what is left to fetch is not worth the origin's while.
bool Fill::abandoned() const {
  if (ended_ || subscribers_ > 0) {
    return false;
  }
  if (!has_head_) {
    return false;  // it may be storable: the head decides
  }
  if (!storing_) {
    return true;
  }
  const uint64_t left = info_.length.has_value() ? *info_.length - received_ : 0;
  return info_.length.has_value() ? left > kFinishBytes : received_ > kFinishBytes;
}

rt::Task<void> Fill::awaitHead(AwaitHeadCall& call) {
  rt::CancelScope never;
  Subscription& subscription = *call.subscription;
  const bool late = has_head_;
  while (!has_head_ && !ended_ && !subscription.sliced) {
    // What hints at the final response is for the client whose request caused it: others may get
    // another.
    if (subscription.leader && subscription.interims < interims_.size()) {
      call.how = FillHead::interim;
      call.interim = *interims_[subscription.interims++];
      co_return;
    }
    const rt::WaitQueue::Woken how =
        co_await progress_.wait(never, base::MonoTime{call.deadline_ns});
    if (how == rt::WaitQueue::Woken::timed_out) {
      call.how = FillHead::timed_out;
      co_return;
    }
  }
  if (subscription.sliced) {
    // What came with the response for its client alone is not in what is stored.
    const bool own = subscription.leader && !leader_text_.empty();
    call.how = own ? FillHead::released : FillHead::sliced;
    co_return;
  }
  call.how = how_;
  call.failure = failure_;
  call.info = info_;
  if (subscription.leader && !leader_text_.empty()) {
    call.info.head.text = leader_text_;
  }
  if (how_ == FillHead::response) {
    const bool allowed = !late || block_.has_value() ||
                         answers(*call.request_fields, info_.head, route_->policy, stripe_.now());
    const bool mine = passing_ ? subscription.leader : allowed && fits(*call.request_fields);
    if (!mine && !subscription.leader) {
      call.how = FillHead::released;
    }
  }
}

// A stored response of several variants answers only requests that select it.
bool Fill::fits(const http::Fields& request) const {
  if (narrowed_) {
    return false;
  }
  if (!rule_.has_value()) {
    return true;
  }
  std::string key = record_primary_;
  appendVariant(*rule_, request, key);
  return key == record_key_;
}

}  // namespace cache
