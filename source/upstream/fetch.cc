#include "source/upstream/fetch.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace upstream {
namespace {

uint64_t orNever_ns(uint64_t ms) {
  return ms == 0 || ms > UINT64_MAX / base::kMillisecond_ns ? UINT64_MAX
                                                            : ms * base::kMillisecond_ns;
}

// The attempts of one request.
class Attempts {
 public:
  Attempts(Cluster& cluster, const FetchRequest& request, rt::CancelScope& scope)
      : cluster_(cluster), request_(request), scope_(scope), connects_(request.num_retries) {}

  rt::Task<Fetched> run();

 private:
  rt::Task<Failure> attempt();
  bool mayReplay() const;
  bool timeIsLeft() const {
    return !scope_.requested() && cluster_.context().reactor.now() < request_.timeouts.deadline;
  }

  Cluster& cluster_;
  const FetchRequest& request_;
  rt::CancelScope& scope_;
  std::vector<uint64_t> tried_;  // endpoints that could not be connected to
  uint32_t connects_;            // further connects allowed
  bool replayed_ = false;
  bool again_ = false;  // what failed is worth another attempt
  uint32_t count_ = 0;
  std::unique_ptr<Exchange> exchange_;
};

bool Attempts::mayReplay() const {
  return request_.idempotent && !replayed_ && timeIsLeft();
}

rt::Task<Fetched> Attempts::run() {
  Ticket ticket(cluster_);
  if (!ticket) {
    co_return Fetched{
        nullptr, {Reason::overflow, {base::Code::no_capacity, base::Blame::upstream}}, 0};
  }
  Failure failure;
  do {
    count_++;
    again_ = false;
    failure = co_await attempt();
  } while (again_);
  if (failure) {
    exchange_.reset();
  } else {
    cluster_.stats().rq_retry_success += count_ > 1 ? 1 : 0;
    exchange_->hold(std::move(ticket));
  }
  co_return Fetched{std::move(exchange_), failure, count_};
}

rt::Task<Failure> Attempts::attempt() {
  const FetchTimeouts& timeouts = request_.timeouts;
  const base::MonoTime now = cluster_.context().reactor.now();
  const base::MonoTime deadline =
      std::min(timeouts.deadline, now + orNever_ns(timeouts.per_try_ms));
  AcquireOptions options;
  options.fresh_only = replayed_;
  options.max_idle_ns = request_.idempotent ? UINT64_MAX : kTrustedIdle_ns;
  options.tried = tried_;
  // An origin that has no connection for us is as slow as one that does not answer.
  const Acquired acquired = co_await cluster_.acquire(
      options, scope_, std::min(deadline, now + orNever_ns(timeouts.response_ms)));
  if (acquired.connection == nullptr) {
    if (acquired.try_another && connects_ > 0 && timeIsLeft()) {
      connects_--;
      tried_.push_back(acquired.endpoint_id);
      cluster_.stats().rq_retry_connect++;
      again_ = true;
    }
    co_return acquired.failure;
  }
  exchange_ = std::make_unique<Exchange>(cluster_, *acquired.connection, scope_);
  ExchangeTimes times;
  times.response_ns = orNever_ns(timeouts.response_ms);
  times.idle_ns = orNever_ns(timeouts.idle_ms);
  times.expect_ns = timeouts.expect_ms * base::kMillisecond_ns;
  times.deadline = deadline;
  const Failure failure = co_await exchange_->begin(request_.out, times);
  if (!exchange_->reused() || !mayReplay()) {
    co_return failure;
  }
  // An origin that tired of an unused connection may say so with 408 just as a request comes.
  BodySource* body = request_.out.body;
  const bool tired = !failure && exchange_->head().status == 408 && body == nullptr;
  const bool died = failure && failure.error.retry == base::Retry::if_reused_connection;
  if (tired || (died && (body == nullptr || body->rewind()))) {
    co_await exchange_->finish();
    replayed_ = true;
    cluster_.stats().rq_retry_reused++;
    again_ = true;
  }
  co_return failure;
}

}  // namespace

rt::Task<Fetched> fetch(Cluster& cluster, FetchRequest request, rt::CancelScope& scope) {
  Attempts attempts(cluster, request, scope);
  Fetched fetched = co_await attempts.run();
  co_return fetched;
}

bool isIdempotent(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE" ||
         method == "PUT" || method == "DELETE";
}

}  // namespace upstream
