#include "source/http/chunked.h"

#include <algorithm>
#include <cstring>

#include "source/base/check.h"
#include "source/http/field_lines.h"
#include "source/http/grammar.h"
#include "source/http/serialize.h"

namespace http {
namespace {

using base::Code;

constexpr uint8_t kMaxSizeDigits = 16;
// As for Content-Length, so that sums stay far from the edge.
constexpr uint64_t kMaxChunkBytes = INT64_MAX;

}  // namespace

bool forbiddenInTrailers(Name id) {
  switch (id) {
    // Framing, routing and the connection.
    case Name::content_length:
    case Name::transfer_encoding:
    case Name::host:
    case Name::connection:
    case Name::keep_alive:
    case Name::proxy_connection:
    case Name::te:
    case Name::trailer:
    case Name::upgrade:
    case Name::http2_settings:
    // Where the message has been.
    case Name::cdn_loop:
    case Name::forwarded:
    case Name::via:
    case Name::x_forwarded_for:
    case Name::x_forwarded_host:
    case Name::x_forwarded_proto:
    case Name::max_forwards:
    case Name::expect:
    // Conditions and ranges.
    case Name::if_match:
    case Name::if_none_match:
    case Name::if_modified_since:
    case Name::if_unmodified_since:
    case Name::if_range:
    case Name::range:
    // Authentication and state.
    case Name::authorization:
    case Name::proxy_authenticate:
    case Name::proxy_authentication_info:
    case Name::proxy_authorization:
    case Name::www_authenticate:
    case Name::cookie:
    case Name::set_cookie:
    // What decides how a response is handled and stored, before its body is read.
    case Name::age:
    case Name::cache_control:
    case Name::cdn_cache_control:
    case Name::surrogate_control:
    case Name::cache_tag:
    case Name::surrogate_key:
    case Name::date:
    case Name::expires:
    case Name::location:
    case Name::pragma:
    case Name::retry_after:
    case Name::vary:
    case Name::warning:
    // How the content is read.
    case Name::content_encoding:
    case Name::content_range:
    case Name::content_type:
      return true;
    default:
      return false;
  }
}

base::Error ChunkDecoder::fail(Code code) {
  state_ = State::failed;
  failure_ = code;
  return base::Error{.code = code, .blame = blame_};
}

void ChunkDecoder::reset() {
  state_ = State::size_first;
  failure_ = Code::ok;
  extension_total_bytes_ = 0;
  remaining_ = 0;
  trailer_text_.clear();
  trailers_.clear();
}

base::Result<ChunkDecoder::Step> ChunkDecoder::feed(std::span<const std::byte> input) {
  if (state_ == State::failed) {
    return base::Error{.code = failure_, .blame = blame_};
  }
  uint32_t at = 0;
  const uint32_t size = static_cast<uint32_t>(std::min<size_t>(input.size(), UINT32_MAX));
  while (at < size && state_ != State::done) {
    if (state_ == State::data) {
      const uint32_t take = static_cast<uint32_t>(std::min<uint64_t>(remaining_, size - at));
      remaining_ -= take;
      state_ = remaining_ == 0 ? State::data_cr : State::data;
      return Step{.consumed = at + take, .data = input.subspan(at, take)};
    }
    const Code code = state_ == State::trailer ? takeTrailer(input, at)
                                               : takeSizeLine(static_cast<char>(input[at++]));
    if (code != Code::ok) {
      return fail(code);
    }
  }
  return Step{.consumed = at, .end = state_ == State::done};
}

// One byte of what stands between the data: the end of a chunk and the size line of the next.
Code ChunkDecoder::takeSizeLine(char c) {
  switch (state_) {
    case State::size_first:
      remaining_ = 0;
      digits_ = 0;
      extension_bytes_ = 0;
      state_ = State::size;
      [[fallthrough]];
    case State::size: {
      const int digit = hexValue(c);
      if (digit >= 0) {
        digits_++;
        remaining_ = remaining_ << 4 | static_cast<unsigned>(digit);
        return digits_ <= kMaxSizeDigits ? Code::ok : Code::bad_framing;
      }
      if (digits_ == 0) {
        return Code::bad_framing;
      }
      return takeExtension(c);
    }
    case State::size_space:
    case State::extension:
      return takeExtension(c);
    case State::size_lf:
      return c == '\n' ? endSizeLine() : Code::bad_framing;
    case State::data_cr:
      state_ = State::data_lf;
      return c == '\r' ? Code::ok : Code::bad_framing;
    case State::data_lf:
      state_ = State::size_first;
      return c == '\n' ? Code::ok : Code::bad_framing;
    case State::data:
    case State::trailer:
    case State::done:
    case State::failed:
      break;
  }
  CHECK(false);
}

// What follows the size. White space is for a ";" to come only (BWS, RFC 9112 7.1.1): "5 " before
// CRLF is no chunk size. Extensions mean nothing to us and are passed over, but with an eye on
// their amount.
Code ChunkDecoder::takeExtension(char c) {
  if (c == '\r' && state_ != State::size_space) {
    state_ = State::size_lf;
    return Code::ok;
  }
  if (state_ != State::extension) {
    if (c != ';' && !isOws(c)) {
      return Code::bad_framing;
    }
    state_ = c == ';' ? State::extension : State::size_space;
  } else if (!is(kValueChar, c)) {
    return Code::bad_framing;
  }
  extension_bytes_++;
  extension_total_bytes_++;
  const bool fits = extension_bytes_ <= limits_.extension_bytes &&
                    extension_total_bytes_ <= limits_.extension_total_bytes;
  return fits ? Code::ok : Code::bad_framing;
}

Code ChunkDecoder::endSizeLine() {
  if (remaining_ > kMaxChunkBytes) {
    return Code::bad_framing;
  }
  state_ = remaining_ == 0 ? State::trailer : State::data;
  return Code::ok;
}

// Gathers the trailer section line by line until its blank line.
Code ChunkDecoder::takeTrailer(std::span<const std::byte> input, uint32_t& at) {
  const char* const begin = reinterpret_cast<const char*>(input.data()) + at;
  const size_t room = limits_.trailer_bytes - trailer_text_.size();
  const size_t left = input.size() - at;
  const size_t search = std::min(left, room);
  const void* const lf = search == 0 ? nullptr : std::memchr(begin, '\n', search);
  const size_t take =
      lf == nullptr ? search : static_cast<size_t>(static_cast<const char*>(lf) - begin) + 1;
  trailer_text_.insert(trailer_text_.end(), begin, begin + take);
  at += static_cast<uint32_t>(take);
  if (lf == nullptr) {
    return left > room ? Code::head_too_large : Code::ok;
  }
  const std::string_view text(trailer_text_.data(), trailer_text_.size());
  const bool blank = text == "\r\n" || text.ends_with("\n\r\n");
  if (!blank && !text.ends_with("\r\n")) {
    return Code::bad_framing;
  }
  return blank ? finishTrailers() : Code::ok;
}

Code ChunkDecoder::finishTrailers() {
  state_ = State::done;
  if (trailer_text_.size() == 2) {
    return Code::ok;
  }
  const char* const begin = trailer_text_.data();
  const char* const end = begin + trailer_text_.size();
  Fields all;
  if (internal::parseFieldLines(begin, {begin, end},
                                {limits_.trailer_fields, limits_.trailer_bytes}, all) == nullptr) {
    const auto lines = std::count(begin, end, '\n') - 1;
    return lines > limits_.trailer_fields ? Code::head_too_large : Code::bad_framing;
  }
  for (const Field& field : all.all()) {
    if (!forbiddenInTrailers(field.id)) {
      trailers_.add(field.id, field.name, field.value);
    }
  }
  return Code::ok;
}

std::string_view writeChunkHead(uint64_t size, std::span<char, kChunkHeadSize> out) {
  CHECK(size != 0);
  size_t first = kChunkHeadSize;
  out[--first] = '\n';
  out[--first] = '\r';
  for (uint64_t rest = size; rest != 0; rest >>= 4) {
    out[--first] = "0123456789abcdef"[rest & 15];
  }
  return std::string_view(out.data() + first, kChunkHeadSize - first);
}

void appendLastChunk(std::string& out, const Fields& trailers) {
  out.append("0\r\n");
  for (const Field& field : trailers.all()) {
    if (!forbiddenInTrailers(field.id)) {
      appendField(out, field.name, field.value);
    }
  }
  appendHeadEnd(out);
}

}  // namespace http
