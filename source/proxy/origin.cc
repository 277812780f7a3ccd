#include "source/proxy/origin.h"

#include <algorithm>
#include <utility>

#include "source/http/serialize.h"
#include "source/policy/targeted.h"
#include "source/policy/upstream.h"

namespace proxy {
namespace {

constexpr uint64_t kNoLimit_ms = UINT32_MAX;

uint32_t limited(uint64_t ms) {
  return static_cast<uint32_t>(std::min(ms, kNoLimit_ms));
}

// A response body that flows into a fill.
class ExchangeStream final : public cache::OriginStream, public rt::FramePooled {
 public:
  ExchangeStream(Context& context, std::unique_ptr<OriginExchange> origin)
      : context_(context), origin_(std::move(origin)) {}

  const http::ResponseHead& head() const override { return origin_->exchange().head(); }
  std::optional<uint64_t> length() const override { return origin_->exchange().bodyLength(); }
  rt::Task<base::Result<uint32_t>> read(std::span<std::byte> to, rt::CancelScope& scope) override {
    co_return co_await origin_->exchange().readBody(to, scope,
                                                    context_.reactor.now() + origin_->idle_ns());
  }
  rt::Task<void> close() override { co_await origin_->finish(); }

 private:
  Context& context_;
  std::unique_ptr<OriginExchange> origin_;
};

// The cache's ear, as the exchange knows it.
class InterimEar final : public upstream::InterimSink {
 public:
  explicit InterimEar(cache::InterimSink& to) : to_(to) {}
  rt::Task<base::Status> onInterim(const http::ResponseHead& head, rt::CancelScope&) override {
    to_.onInterim(head);
    co_return base::Unit{};
  }

 private:
  cache::InterimSink& to_;
};

}  // namespace

policy::UpstreamFailure failureOf(upstream::Reason reason) {
  switch (reason) {
    case upstream::Reason::no_healthy_endpoint:
    case upstream::Reason::overflow:
      return policy::UpstreamFailure::no_endpoint;
    case upstream::Reason::connect_failure:
    case upstream::Reason::connect_timeout:
      return policy::UpstreamFailure::connect;
    case upstream::Reason::response_timeout:
      return policy::UpstreamFailure::timeout;
    case upstream::Reason::protocol_error:
      return policy::UpstreamFailure::bad_response;
    case upstream::Reason::none:
    case upstream::Reason::reset_before_head:
    case upstream::Reason::request_body:
    case upstream::Reason::interim_sink:
    case upstream::Reason::cancelled:
      break;
  }
  return policy::UpstreamFailure::reset;
}

void OriginExchange::writeHead(const OriginRequest& request) {
  const cache::FetchPlan& plan = request.plan;
  const auto& action = std::get<config::ForwardAction>(plan.route->action);
  policy::UpstreamPlan up;
  up.kind = plan.kind;
  up.client_scheme = plan.uri->scheme;
  up.host =
      action.host_rewrite.empty() ? plan.uri->authority : std::string_view(action.host_rewrite);
  if (up.host.empty()) {
    up.host = plan.snapshot->clusters[action.cluster].endpoints[0].address.host;  // HTTP/1.0
  }
  up.client_host = plan.uri->authority;
  up.client_address = plan.client_address;
  up.via = plan.via;
  up.cdn_loop = plan.cdn_loop;
  up.surrogate = plan.route->policy.enabled && policy::consumesSurrogateControl(plan.route->policy);
  up.etag = plan.validators.etag;
  up.last_modified = plan.validators.last_modified;
  up.range = plan.range;
  OriginScratch& scratch = *scratch_;
  http::Fields& fields = scratch.fields;
  policy::planUpstream(*plan.request, up, fields, scratch.values);
  config::changeRequest(*plan.host, *plan.route, fields, scratch.spare);
  scratch.path.assign(plan.uri->path);
  if (plan.uri->has_query) {
    scratch.path.append("?").append(plan.uri->query);
  }
  scratch.target.clear();
  config::appendUpstreamTarget(*plan.route, scratch.path, scratch.target);
  const std::string_view method =
      plan.kind == policy::FetchKind::pass ? plan.request->method : std::string_view("GET");
  std::string& head = scratch.head;
  head.clear();
  http::appendRequestLine(head, method, scratch.target);
  http::appendFields(head, fields);
  if (const auto* length = std::get_if<http::Length>(&request.framing)) {
    http::appendField(head, http::Name::content_length, length->n);
  } else if (std::holds_alternative<http::Chunked>(request.framing)) {
    http::appendField(head, http::Name::transfer_encoding, "chunked");
    if (const std::string_view names = plan.request->fields.value(http::Name::trailer);
        !names.empty()) {
      http::appendField(head, http::Name::trailer, names);  // RFC 9110 6.6.2
    }
  }
  if (request.expect_continue) {
    http::appendField(head, http::Name::expect, "100-continue");
  }
  http::appendHeadEnd(head);
}

rt::Task<bool> OriginExchange::begin(OriginRequest request, rt::CancelScope& scope) {
  const cache::FetchPlan& plan = request.plan;
  const auto& action = std::get<config::ForwardAction>(plan.route->action);
  cluster_name_ = plan.snapshot->clusters[action.cluster].name;
  idle_ns_ =
      action.idle_timeout_ms == 0 ? UINT64_MAX : action.idle_timeout_ms * base::kMillisecond_ns;
  upstream::Cluster* cluster = context_.clusters.find(cluster_name_);
  if (cluster == nullptr) {
    failure_ = upstream::Failure{upstream::Reason::no_healthy_endpoint,
                                 base::Error{base::Code::no_capacity, base::Blame::upstream}};
    co_return false;
  }
  writeHead(request);
  upstream::FetchRequest fetch;
  fetch.out.head = scratch_->head;
  fetch.out.method =
      plan.kind == policy::FetchKind::pass ? plan.request->method : std::string_view("GET");
  fetch.out.body = request.body;
  if (const auto* length = std::get_if<http::Length>(&request.framing)) {
    fetch.out.body_bytes = length->n;
  }
  fetch.out.expect_continue = request.expect_continue;
  fetch.out.interim = request.interim;
  fetch.idempotent = upstream::isIdempotent(fetch.out.method);
  fetch.num_retries = action.num_retries;
  fetch.timeouts.response_ms = action.timeout_ms == 0 ? UINT32_MAX : limited(action.timeout_ms);
  fetch.timeouts.idle_ms =
      action.idle_timeout_ms == 0 ? UINT32_MAX : limited(action.idle_timeout_ms);
  fetch.timeouts.per_try_ms = limited(action.per_try_timeout_ms);
  const base::MonoTime begun = context_.reactor.now();
  upstream::Fetched fetched = co_await upstream::fetch(*cluster, std::move(fetch), scope);
  exchange_ = std::move(fetched.exchange);
  failure_ = fetched.failure;
  context_.stats.upstream_ns.record(context_.reactor.now().ns - begun.ns);
  if (exchange_ == nullptr) {
    context_.stats.upstream_failures++;
  }
  co_return exchange_ != nullptr;
}

rt::Task<void> OriginExchange::finish() {
  if (exchange_ != nullptr) {
    co_await exchange_->finish();
    exchange_.reset();
  }
}

rt::Task<cache::FetchOutcome> OriginPort::fetch(const cache::FetchPlan& plan,
                                                rt::CancelScope& scope) {
  cache::FetchOutcome outcome;
  auto origin = std::make_unique<OriginExchange>(context_);
  OriginRequest request;
  request.plan = plan;
  std::optional<InterimEar> ear;  // interim responses come before the head that begin() awaits
  if (plan.interim != nullptr) {
    request.interim = &ear.emplace(*plan.interim);
  }
  if (co_await origin->begin(std::move(request), scope)) {
    outcome.stream = std::make_unique<ExchangeStream>(context_, std::move(origin));
    co_return std::move(outcome);
  }
  outcome.failure = failureOf(origin->failure().reason);
  outcome.error = origin->failure().error;
  co_await origin->finish();
  co_return std::move(outcome);
}

}  // namespace proxy
