// The response body of an exchange, and its end.
#include <algorithm>
#include <cstring>

#include "source/base/check.h"
#include "source/http/grammar.h"
#include "source/upstream/exchange.h"

namespace upstream {
namespace {

// A 204 has no content whatever it says (RFC 9110 8.6); an origin that announces some may also
// send it, so its connection is not trusted with another request.
bool hasStrayLength(const http::ResponseHead& head) {
  return head.status == 204 && http::contentLength(head).value_or(0) > 0;
}

}  // namespace

rt::Task<base::Result<uint32_t>> Exchange::readBody(std::span<std::byte> to, rt::CancelScope& scope,
                                                    base::MonoTime deadline) {
  CHECK(!to.empty());
  if (state_ == State::ended) {
    co_return 0u;
  }
  if (state_ != State::body) {
    co_return error_;
  }
  const std::span<std::byte> room = to.first(std::min<size_t>(to.size(), size_t{1} << 30));
  const bool chunked = std::holds_alternative<http::Chunked>(framing_);
  base::Result<uint32_t> read = chunked ? co_await readChunked(room, scope, deadline)
                                        : co_await readPlain(room, scope, deadline);
  if (!read.ok()) {
    co_return failBody(read.error());
  }
  body_bytes_ += read.value();
  cluster_.stats().rx_bytes += read.value();
  co_return read;
}

// What came along with the head first, then the socket; 0 is its end.
rt::Task<base::Result<uint32_t>> Exchange::receive(std::span<std::byte> to, rt::CancelScope& scope,
                                                   base::MonoTime deadline) {
  if (heldBytes() == 0) {
    co_return co_await connection_->stream().readInto(to, scope, deadline);
  }
  const uint32_t n = static_cast<uint32_t>(std::min<size_t>(to.size(), heldBytes()));
  std::memcpy(to.data(), buffer_ + at_, n);
  at_ += n;
  co_return n;
}

rt::Task<base::Result<uint32_t>> Exchange::readPlain(std::span<std::byte> to,
                                                     rt::CancelScope& scope,
                                                     base::MonoTime deadline) {
  const bool until_close = std::holds_alternative<http::UntilClose>(framing_);
  if (!until_close) {
    to = to.first(std::min<uint64_t>(to.size(), remaining_));
  }
  const base::Result<uint32_t> read = co_await receive(to, scope, deadline);
  if (!read.ok()) {
    co_return read;
  }
  if (read.value() == 0) {
    if (!until_close) {
      co_return base::Error{base::Code::peer_closed, base::Blame::upstream};
    }
    endMessage();
    co_return 0u;
  }
  if (!until_close) {
    remaining_ -= read.value();
    if (remaining_ == 0) {
      endMessage();
    }
  }
  co_return read;
}

// Reads chunks with their framing into `to` and closes the gaps in place: data never lies behind
// the framing that announced it.
rt::Task<base::Result<uint32_t>> Exchange::readChunked(std::span<std::byte> to,
                                                       rt::CancelScope& scope,
                                                       base::MonoTime deadline) {
  while (true) {
    const base::Result<uint32_t> raw = co_await receive(to, scope, deadline);
    if (!raw.ok()) {
      co_return raw;
    }
    if (raw.value() == 0) {
      co_return base::Error{base::Code::peer_closed, base::Blame::upstream};
    }
    const base::Result<uint32_t> decoded = decode(to.first(raw.value()));
    if (!decoded.ok() || decoded.value() > 0 || state_ == State::ended) {
      co_return decoded;
    }
  }
}

base::Result<uint32_t> Exchange::decode(std::span<std::byte> raw) {
  uint32_t done = 0;
  uint32_t at = 0;
  while (at < raw.size()) {
    const base::Result<http::ChunkDecoder::Step> step = decoder_.feed(raw.subspan(at));
    if (!step.ok()) {
      return step.error();
    }
    const std::span<const std::byte> data = step.value().data;
    if (!data.empty()) {
      std::memmove(raw.data() + done, data.data(), data.size());
      done += static_cast<uint32_t>(data.size());
    }
    at += step.value().consumed;
    if (step.value().end) {
      surplus_ = at < raw.size();
      endMessage();
      break;
    }
  }
  return done;
}

base::Error Exchange::failBody(const base::Error& error) {
  state_ = State::failed;
  error_ = error;
  error_.retry = base::Retry::never;
  const bool truncated = error.code == base::Code::peer_closed ||
                         error.code == base::Code::io_error ||
                         error.code == base::Code::bad_framing;
  cluster_.stats().rq_truncated += truncated ? 1 : 0;
  sender_.stop();
  letGo();
  return error_;
}

void Exchange::endMessage() {
  state_ = State::ended;
  sender_.stop();
  letGo();
}

// Gives the connection back, unless something may still be written to it; finish() comes later.
void Exchange::letGo() {
  if (connection_ == nullptr || senders_.size() > 0) {
    return;
  }
  Return how;
  const bool whole = state_ == State::ended && requestSent();
  how.reusable = whole && heldBytes() == 0 && !surplus_ && http::keepAlive(head_) &&
                 !hasStrayLength(head_) && !std::holds_alternative<http::UntilClose>(framing_);
  how.abort = !whole;
  if (how.reusable) {
    how.idle_ns = announcedIdle_ns(head_);
  }
  cluster_.giveBack(*std::exchange(connection_, nullptr), how);
}

rt::Task<void> Exchange::finish() {
  sender_.stop();
  co_await senders_.join();
  if (request_.body != nullptr) {
    cluster_.stats().tx_bytes += std::exchange(counted_, true) ? 0 : sender_.bodyBytes();
  }
  letGo();
}

uint64_t announcedIdle_ns(const http::ResponseHead& head) {
  std::string_view rest = head.fields.value(http::Name::keep_alive);
  constexpr std::string_view kTimeout = "timeout=";
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = http::trimOws(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (item.size() <= kTimeout.size() ||
        !http::equalsIgnoreCase(item.substr(0, kTimeout.size()), kTimeout)) {
      continue;
    }
    const std::optional<uint64_t> seconds = http::parseDecimal(item.substr(kTimeout.size()));
    if (!seconds.has_value() || *seconds > UINT32_MAX) {
      return UINT64_MAX;
    }
    const uint64_t announced_ns = *seconds * base::kSecond_ns;
    return announced_ns - std::min(announced_ns, base::kSecond_ns / 2);
  }
  return UINT64_MAX;
}

}  // namespace upstream
