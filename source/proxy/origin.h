// Fetching from a cluster: a client's request becomes the origin's, and the cache's port is served
// by it.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "source/cache/origin.h"
#include "source/proxy/context.h"
#include "source/rt/frame_pool.h"
#include "source/upstream/fetch.h"

namespace proxy {

// A request as it is to be sent on. Everything is borrowed until the exchange has ended.
struct OriginRequest {
  cache::FetchPlan plan;
  upstream::BodySource* body = nullptr;
  http::Framing framing = http::NoBody{};  // of the body
  bool expect_continue = false;
  upstream::InterimSink* interim = nullptr;
};

// One exchange with the origin of a route. It owns the head that is sent, so it outlives the
// exchange.
class OriginExchange : public rt::FramePooled {
 public:
  explicit OriginExchange(Context& context) : context_(context), scratch_(context.origin_scratch) {}

  // Sends and awaits the response's head. False: failure() says why. scope outlives this.
  rt::Task<bool> begin(OriginRequest request, rt::CancelScope& scope);
  upstream::Exchange& exchange() { return *exchange_; }
  const upstream::Failure& failure() const { return failure_; }
  std::string_view clusterName() const { return cluster_name_; }
  uint64_t idle_ns() const { return idle_ns_; }
  // Awaited before it is destroyed, also after a failure.
  rt::Task<void> finish();

 private:
  void writeHead(const OriginRequest& request);

  Context& context_;
  Spares<OriginScratch>::Lease scratch_;
  std::string_view cluster_name_;
  uint64_t idle_ns_ = 0;
  upstream::Failure failure_;
  std::unique_ptr<upstream::Exchange> exchange_;
};

policy::UpstreamFailure failureOf(upstream::Reason reason);

// The cache's port.
class OriginPort final : public cache::Origin {
 public:
  explicit OriginPort(Context& context) : context_(context) {}
  rt::Task<cache::FetchOutcome> fetch(const cache::FetchPlan& plan,
                                      rt::CancelScope& scope) override;

 private:
  Context& context_;
};

}  // namespace proxy
