#include "source/admin/connection.h"

#include <utility>

#include "source/http/chunked.h"
#include "source/http/uri.h"

namespace admin {
namespace {

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kForm = "application/x-www-form-urlencoded";

std::span<const std::byte> bytesOf(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

bool isForm(std::string_view content_type) {
  return http::equalsIgnoreCase(content_type.substr(0, kForm.size()), kForm) &&
         (content_type.size() == kForm.size() || content_type[kForm.size()] == ';' ||
          content_type[kForm.size()] == ' ');
}

}  // namespace

rt::Task<bool> Connection::receive(base::MonoTime deadline) {
  base::Result<rt::ReceiveBuffer> got = co_await stream.read(scope, deadline);
  if (!got.ok()) {
    timed_out = got.error().code == base::Code::timeout;
    co_return false;
  }
  if (!got.value()) {
    co_return false;
  }
  const std::span<std::byte> bytes = got.value().bytes();
  input_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  co_return true;
}

rt::Task<bool> Connection::waitForRequest(base::MonoTime deadline) {
  co_return !input_.empty() || co_await receive(deadline);
}

Connection::Got Connection::refuse(uint16_t status, std::string why, bool is_limit) {
  problem = text(status, std::move(why) + "\n");
  over_limit = is_limit;
  keep_alive = false;
  return Got::problem;
}

Connection::Got Connection::refuseLate() {
  return timed_out ? refuse(408, "the request did not come whole in time", true) : Got::end;
}

rt::Task<Connection::Got> Connection::readRequest(base::MonoTime deadline) {
  over_limit = timed_out = is_head = false;
  method_.clear(), path_.clear(), query_.clear(), host_.clear(), origin_.clear(), body_.clear();
  const Got head = co_await readHead(deadline);
  if (head != Got::request) {
    co_return head;
  }
  co_return co_await readBody(framing_, expects_continue_, deadline);
}

rt::Task<Connection::Got> Connection::readHead(base::MonoTime deadline) {
  const http::Limits limits{limits_.head_bytes, limits_.fields, limits_.head_bytes};
  uint32_t searched = 0;
  while (true) {
    if (http::findHeadEnd(input_, searched) > 0 || input_.size() > limits_.head_bytes) {
      http::RequestHead head;
      const http::ParseOutcome outcome = http::parseRequestHead(input_, limits, head);
      if (const auto* parsed = std::get_if<http::Parsed>(&outcome)) {
        co_return takeHead(parsed->consumed, head);
      }
      if (const auto* error = std::get_if<base::Error>(&outcome)) {
        if (error->code == base::Code::head_too_large) {
          co_return refuse(431,
                           "the request's head is larger than " +
                               std::to_string(limits_.head_bytes) + " bytes or " +
                               std::to_string(limits_.fields) + " fields",
                           true);
        }
        co_return error->code == base::Code::unsupported
            ? refuse(505, "only HTTP/1.1 and HTTP/1.0 are spoken here")
            : refuse(400, "the request's head is malformed");
      }
    }
    searched = static_cast<uint32_t>(input_.size());
    if (!co_await receive(deadline)) {
      co_return refuseLate();
    }
  }
}

// Copies what is needed of the head, whose bytes then leave input_.
Connection::Got Connection::takeHead(uint32_t consumed, const http::RequestHead& head) {
  const base::Result<http::Target> target = http::parseTarget(head.method, head.target);
  if (!target.ok()) {
    return refuse(400, "the request's target is malformed");
  }
  if (target.value().query.size() > limits_.query_bytes) {
    return refuse(414, "the query is longer than " + std::to_string(limits_.query_bytes) + " bytes",
                  true);
  }
  const base::Result<http::Framing> framing = http::requestFraming(head);
  if (!framing.ok()) {
    return framing.error().code == base::Code::unsupported
               ? refuse(501, "the request's transfer coding is not known here")
               : refuse(400, "the request's length is ambiguous");
  }
  framing_ = framing.value();
  const auto* length = std::get_if<http::Length>(&framing_);
  if (length != nullptr && length->n > limits_.body_bytes) {
    return refuse(413, "the body is longer than " + std::to_string(limits_.body_bytes) + " bytes",
                  true);
  }
  method_ = head.method;
  is_head = method_ == "HEAD";
  path_ = target.value().path;
  query_ = target.value().query;
  host_ = target.value().form == http::TargetForm::absolute ? target.value().authority
                                                            : head.fields.value(http::Name::host);
  origin_ = head.fields.value(http::Name::origin);
  is_form_ = isForm(head.fields.value(http::Name::content_type));
  keep_alive = http::keepAlive(head);
  expects_continue_ = http::expectsContinue(head);
  input_.erase(0, consumed);
  return Got::request;
}

rt::Task<Connection::Got> Connection::readBody(http::Framing framing, bool expects_continue,
                                               base::MonoTime deadline) {
  const auto* length = std::get_if<http::Length>(&framing);
  const bool chunked = std::holds_alternative<http::Chunked>(framing);
  if (!chunked && (length == nullptr || length->n == 0)) {
    co_return Got::request;
  }
  if (expects_continue && input_.empty()) {
    const base::Status sent = co_await stream.write(bytesOf(kContinue), scope, deadline);
    if (!sent.ok()) {
      co_return Got::end;
    }
  }
  if (chunked) {
    co_return co_await readChunks(deadline);
  }
  while (input_.size() < length->n) {
    if (!co_await receive(deadline)) {
      co_return refuseLate();
    }
  }
  body_ = input_.substr(0, length->n);
  input_.erase(0, length->n);
  co_return Got::request;
}

rt::Task<Connection::Got> Connection::readChunks(base::MonoTime deadline) {
  http::ChunkDecoder decoder(base::Blame::downstream);
  while (true) {
    while (!input_.empty()) {
      const base::Result<http::ChunkDecoder::Step> step = decoder.feed(bytesOf(input_));
      if (!step.ok()) {
        co_return refuse(400, "the request's chunks are malformed");
      }
      const std::span<const std::byte> data = step.value().data;
      if (data.size() > limits_.body_bytes - body_.size()) {
        co_return refuse(
            413, "the body is longer than " + std::to_string(limits_.body_bytes) + " bytes", true);
      }
      body_.append(reinterpret_cast<const char*>(data.data()), data.size());
      input_.erase(0, step.value().consumed);
      if (step.value().end) {
        co_return Got::request;
      }
    }
    if (!co_await receive(deadline)) {
      co_return refuseLate();
    }
  }
}

rt::Task<void> Connection::linger(base::MonoTime deadline, rt::CancelScope& until) {
  co_await stream.shutdownWrite(until);
  uint64_t read = 0;
  input_.clear();
  while (read <= limits_.body_bytes && co_await receive(deadline)) {
    read += input_.size();
    input_.clear();
  }
}

Request Connection::request() const {
  return Request{method_, path_,   query_,
                 host_,   origin_, is_form_ ? std::string_view(body_) : std::string_view()};
}

}  // namespace admin
