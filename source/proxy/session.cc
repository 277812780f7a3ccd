#include "source/proxy/session.h"

#include <algorithm>
#include <utility>

#include "source/http/codec.h"
#include "source/policy/loop.h"
#include "source/proxy/reasons.h"
#include "source/rt/io.h"

namespace proxy {
namespace {

// How much of an unwanted request body is read before the connection closes, so that the answer is
// not lost to a reset, and how long for.
constexpr uint64_t kLinger_bytes = 1 << 20;
constexpr uint64_t kLinger_ns = 2 * base::kSecond_ns;

// The first bytes are already no HTTP: TLS on a plain port, say. There is nothing to wait for.
bool isNoRequest(std::span<const char> bytes) {
  http::RequestHead head;
  return std::holds_alternative<base::Error>(http::parseRequestHead(bytes, http::Limits{}, head));
}

// The host by which a virtual host is found: the authority without its port.
std::string_view hostOf(std::string_view authority) {
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return has_port ? authority.substr(0, colon) : authority;
}

// One word for what the cache did, as operators of other caches know it.
std::string_view cacheWord(const policy::CacheStatus& status) {
  if (status.hit) {
    return status.ttl_s.value_or(0) < 0 ? "stale" : "hit";
  }
  if (status.collapsed) {
    return "collapsed";
  }
  switch (status.forward) {
    case policy::Forward::bypass:
    case policy::Forward::method:
      return "bypass";
    case policy::Forward::stale:
    case policy::Forward::request:
      return status.fwd_status == uint16_t{304} ? "revalidated" : "expired";
    default:
      return "miss";
  }
}

}  // namespace

Session::Session(Context& context, ScratchPool& scratch, net::Stream stream,
                 net::ConnectionSlot slot, std::string_view listener, uint64_t id,
                 rt::CancelScope& parent)
    : context_(context),
      scratch_(scratch),
      stream_(std::move(stream)),
      slot_(std::move(slot)),
      scope_(parent),
      listener_name_(listener),
      id_(id) {
  context_.stats.downstream_cx_total++;
  context_.stats.downstream_cx_active++;
  peer_text_size_ = static_cast<uint8_t>(stream_.peerAddress().formatIp(peer_text_).size());
}

Session::~Session() {
  context_.stats.downstream_cx_active--;
}

void Session::drain() {
  draining_ = true;
  if (!serving_ && input_.unread().empty()) {
    scope_.request();
  }
}

const config::ListenerConfig* Session::findListener(const config::Snapshot& snapshot) const {
  for (const config::ListenerConfig& listener : snapshot.listeners) {
    if (listener.name == listener_name_) {
      return &listener;
    }
  }
  return nullptr;
}

const config::ListenerConfig* Session::listenerNow() const {
  return findListener(context_.config.current());
}

base::MonoTime Session::after(uint64_t ms) const {
  return ms == 0 ? base::kNever : context_.reactor.now() + ms * base::kMillisecond_ns;
}

rt::Task<void> Session::run() {
  while (open_ && co_await readHead()) {
    serving_ = true;
    co_await serve();
    serving_ = false;
    input_.release();
    if (draining_ || context_.draining) {
      break;
    }
  }
  if (unread_body_) {
    co_await linger();
  }
  context_.stats.downstream_rx_bytes += stream_.bytesIn();
  co_await stream_.close();
}

// Receives once. False: the client has closed, stalled or reset, or we are to end; error says
// which.
rt::Task<bool> Session::receive(base::MonoTime deadline, base::Error& error, rt::Arrival arrival) {
  const rt::IoResult result = co_await rt::RecvSelect(stream_.fd(), scope_, deadline, arrival);
  if (result.result > 0) {
    context_.stats.downstream_rx_bytes += static_cast<uint64_t>(result.result);
    input_.append(context_.receive.wrap(result));
    co_return true;
  }
  if (result.result == -ENOBUFS) {
    base::Result<rt::ReceiveBuffer> buffer =
        co_await context_.receive.receive(stream_.fd(), base::Blame::downstream, scope_, deadline);
    if (buffer.ok() && buffer.value()) {
      context_.stats.downstream_rx_bytes += buffer.value().bytes().size();
      input_.append(std::move(buffer.value()));
      co_return true;
    }
    error = buffer.ok() ? base::Error{base::Code::peer_closed, base::Blame::downstream}
                        : buffer.error();
    co_return false;
  }
  error = result.ok() ? base::Error{base::Code::peer_closed, base::Blame::downstream}
                      : result.error(base::Blame::downstream);
  co_return false;
}

// Waits for a whole head (or for enough bytes to know that it is none).
rt::Task<bool> Session::readHead() {
  const config::ListenerConfig* listener = listenerNow();
  if (listener == nullptr) {
    co_return false;
  }
  uint32_t head_limit = listener->max_request_head_bytes;
  const uint64_t head_timeout_ms = listener->request_headers_timeout_ms;
  base::MonoTime deadline =
      after(input_.unread().empty() ? listener->idle_timeout_ms : head_timeout_ms);
  uint32_t searched = 0;
  while (true) {
    const std::span<const char> unread = input_.unread();
    if (!unread.empty()) {
      if (http::findHeadEnd(unread, searched) > 0 || unread.size() > head_limit ||
          (searched == 0 && isNoRequest(unread))) {
        co_return true;
      }
      searched = static_cast<uint32_t>(unread.size());
    }
    const bool first = unread.empty();
    // The first request often is there as soon as the connection; the next is asked for when the
    // answer to the one before has been seen.
    const rt::Arrival arrival = first && requests_ > 0 ? rt::Arrival::later : rt::Arrival::now;
    base::Error error;
    if (!co_await receive(deadline, error, arrival)) {
      if (first) {
        context_.stats.downstream_cx_idle_timeout += error.code == base::Code::timeout ? 1 : 0;
      } else if (error.code == base::Code::timeout) {
        context_.stats.downstream_rq_head_timeout++;
        ScratchPool::Lease scratch(scratch_);
        Request request(*scratch, context_.config.use());
        request.listener = findListener(*request.config);
        request.begun = context_.reactor.now();
        const LocalReply late{408, "DPE", "request_head_timeout"};
        co_await sendLocal(request, late);
        finishRequest(request);
      }
      co_return false;
    }
    if (first) {
      deadline = after(head_timeout_ms);
    }
  }
}

rt::Task<void> Session::serve() {
  ScratchPool::Lease scratch(scratch_);
  Request request(*scratch, context_.config.use());
  request.begun = context_.reactor.now();
  request.begun_wall = context_.reactor.turn().wall;
  request.begun_unix_ms =
      context_.access_log.enabled() ? context_.reactor.engine().wallMilliseconds() : 0;
  request.listener = findListener(*request.config);
  head_sent_ = false;
  requests_++;
  context_.stats.downstream_rq_total++;
  context_.stats.downstream_rq_active++;
  LocalReply problem;
  if (request.listener == nullptr) {
    open_ = false;  // removed by a reload
    problem = LocalReply{503, "NR", "listener_removed"};
    co_await sendLocal(request, problem);
  } else if (!parse(request, problem) || !findRoute(request, problem)) {
    co_await sendLocal(request, problem);
  } else {
    co_await answer(request);
  }
  open_ = open_ && request.reuse && head_sent_;
  finishRequest(request);
  context_.stats.downstream_rq_active--;
}

// Head, target and framing. After a head that is not understood nobody knows where the next one
// begins.
bool Session::parse(Request& request, LocalReply& problem) {
  http::Limits limits;
  limits.head_bytes = request.listener->max_request_head_bytes;
  limits.fields =
      static_cast<uint16_t>(std::min<uint32_t>(request.listener->max_headers, UINT16_MAX));
  limits.line_bytes = limits.head_bytes;
  const std::span<const char> unread = input_.unread();
  const http::ParseOutcome parsed = http::parseRequestHead(unread, limits, request.scratch.head);
  if (const auto* error = std::get_if<base::Error>(&parsed)) {
    problem = replyFor(*error);
    if (error->code == base::Code::unsupported) {
      problem = LocalReply{505, "DPE", "version_not_supported"};
    }
    unread_body_ = true;
    return false;
  }
  const auto* done = std::get_if<http::Parsed>(&parsed);
  if (done == nullptr) {
    problem = LocalReply{400, "DPE", "bad_head"};  // a blank line that the grammar does not accept
    return false;
  }
  request.raw_head = std::string_view(unread.data(), done->consumed);
  input_.consume(done->consumed);
  base::Result<http::Framing> framing = http::requestFraming(request.head());
  if (!framing.ok()) {
    context_.stats.downstream_rq_bad_framing++;
    problem = replyFor(framing.error());
    unread_body_ = true;
    return false;
  }
  request.framing = framing.value();
  const auto* length = std::get_if<http::Length>(&request.framing);
  const bool has_body = std::holds_alternative<http::Chunked>(request.framing) ||
                        (length != nullptr && length->n > 0);
  unread_body_ = has_body;
  base::Result<http::Effective> uri =
      http::effectiveUri(request.head(), http::Scheme::http, request.scratch.authority);
  if (!uri.ok()) {
    problem = LocalReply{400, "DPE", "bad_target"};
    return false;
  }
  request.uri = uri.value();
  request.is_head = request.head().method == "HEAD";
  request.keep_alive = http::keepAlive(request.head());
  const uint32_t most = request.listener->max_requests_per_connection;
  request.reuse = request.keep_alive && !has_body && !draining_ && !context_.draining &&
                  (most == 0 || requests_ < most);
  return true;
}

bool Session::findRoute(Request& request, LocalReply& problem) {
  if (policy::timesPassed(request.head().fields, request.listener->via,
                          request.listener->cdn_loop) > request.listener->max_loops) {
    context_.stats.downstream_rq_loop++;
    problem = LocalReply{508, "", "loop_detected"};
    return false;
  }
  if (request.head().method == "CONNECT") {
    problem = LocalReply{405, "DPE", "connect_not_supported"};
    return false;
  }
  // Path and query are adjacent in the bytes received; an absolute form may have neither.
  const std::string_view path = request.uri.path;
  request.target = path;
  if (request.uri.has_query) {
    request.target = std::string_view(
        path.data(),
        static_cast<size_t>(request.uri.query.data() + request.uri.query.size() - path.data()));
    if (path == "/" && path.data() + path.size() + 1 != request.uri.query.data()) {
      request.scratch.target.assign("/?").append(request.uri.query);
      request.target = request.scratch.target;
    }
  }
  request.host = request.listener->routes.findHost(hostOf(request.uri.authority));
  if (request.host != nullptr) {
    request.route = config::match(*request.host, request.head(), request.target);
  }
  if (request.route == nullptr) {
    context_.stats.no_route++;
    problem = LocalReply{404, "NR", "route_not_found"};
    return false;
  }
  return true;
}

rt::Task<void> Session::answer(Request& request) {
  if (!std::holds_alternative<config::ForwardAction>(request.route->action)) {
    co_await sendDirect(request);
    co_return;
  }
  request.outcome.upstream_cluster = request.config->clusters[request.forward().cluster].name;
  request.outcome.cached_route = request.route->cache != config::kNone;
  policy::RequestClass what = policy::classifyRequest(request.head(), request.route->policy);
  if (std::holds_alternative<policy::Lookup>(what) &&
      config::anyMatches(request.route->bypass_rules, request.head(), request.target, nullptr)) {
    what = policy::Bypass{policy::BypassReason::rule};
  }
  if (const auto* lookup = std::get_if<policy::Lookup>(&what)) {
    co_await serveCached(request, *lookup);
    co_return;
  }
  const policy::BypassReason why = std::get<policy::Bypass>(what).why;
  request.outcome.cache.forward =
      why == policy::BypassReason::method ? policy::Forward::method : policy::Forward::bypass;
  request.outcome.cache.detail = policy::name(why);
  context_.stats.cache_bypass++;
  counterOf(context_.stats, why)++;
  co_await servePass(request, nullptr);
}

void Session::finishRequest(Request& request) {
  context_.stats.request_ns.record(context_.reactor.now().ns - request.begun.ns);
  if (request.listener != nullptr && context_.access_log.enabled()) {
    logAccess(request);
  }
}

void Session::logAccess(Request& request) {
  const std::optional<config::AccessLogConfig>& log = request.config->logging.access_log;
  if (!log.has_value()) {
    return;
  }
  const Outcome& outcome = request.outcome;
  config::AccessLogEntry entry;
  entry.start_unix_ms = request.begun_unix_ms;
  const bool parsed = !request.raw_head.empty();
  entry.request = parsed ? &request.head() : nullptr;
  entry.minor = parsed ? request.head().minor : 1;
  entry.path = request.target;
  entry.authority = request.uri.authority;
  entry.scheme = http::name(request.uri.scheme);
  entry.status = outcome.status;
  entry.response_flags = outcome.flags;
  entry.response_code_details = outcome.details;
  entry.bytes_received = outcome.received_bytes;
  entry.bytes_sent = outcome.body_bytes;
  http::ResponseHead sent;
  http::Limits limits;
  limits.head_bytes = limits.line_bytes = UINT32_MAX;
  limits.fields = UINT16_MAX;
  if (std::holds_alternative<http::Parsed>(
          http::parseResponseHead(outcome.sent_head, limits, sent))) {
    entry.response = &sent.fields;
  }
  entry.duration_us = (context_.reactor.now().ns - request.begun.ns) / 1000;
  if (outcome.upstream_ns.has_value()) {
    entry.response_duration_us = *outcome.upstream_ns / 1000;
  }
  const std::string remote =
      stream_.isOpen() ? stream_.peerAddress().text() : std::string(peerIp());
  const std::string local = stream_.isOpen() ? stream_.localAddress().text() : std::string();
  entry.remote_address = remote;
  entry.local_address = local;
  entry.upstream_host = outcome.upstream_host;
  entry.upstream_cluster = outcome.upstream_cluster;
  if (request.route != nullptr) {
    entry.route_name = request.route->name;
    entry.virtual_host_name = request.route->virtual_host;
  }
  entry.connection_id = id_;
  if (outcome.cached_route) {
    entry.cache_status = cacheWord(outcome.cache);
    entry.cache_name = request.config->caches[request.route->cache].name;
    entry.cache_age_s = outcome.age_s;
    entry.cache_detail = outcome.cache.detail;
  }
  entry.shard = base::index(context_.shard);
  context_.access_log.append(log->format, entry);
}

// The client may not have seen the answer yet, and would not if unread bytes made the close a
// reset.
rt::Task<void> Session::linger() {
  const base::MonoTime deadline = context_.reactor.now() + kLinger_ns;
  co_await stream_.shutdownWrite(scope_);
  uint64_t read = 0;
  base::Error error;
  while (read < kLinger_bytes && co_await receive(deadline, error)) {
    read += input_.unread().size();
    input_.consume(input_.unread().size());
    input_.release();
  }
}

}  // namespace proxy
