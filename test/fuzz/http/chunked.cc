// Fuzzes the chunk decoder: every way of cutting a body gives the same data, trailers and end, and
// a body that was accepted survives being encoded again.
#include "source/http/chunked.h"

#include <algorithm>
#include <string>

#include "test/fuzz/http/check.h"

namespace {

enum class End : uint8_t { more, done, error };

struct Body {
  End end = End::more;
  base::Code code = base::Code::ok;
  std::string data;
  std::string trailers;
  size_t consumed = 0;
};

template <class Step>
Body decode(std::string_view text, const http::ChunkLimits& limits, Step step) {
  http::ChunkDecoder decoder(base::Blame::upstream, limits);
  Body out;
  while (out.consumed < text.size() && out.end == End::more) {
    const std::string_view piece = text.substr(out.consumed, step());
    const auto result = decoder.feed(std::as_bytes(std::span(piece.data(), piece.size())));
    if (!result.ok()) {
      out.end = End::error;
      out.code = result.error().code;
      return out;
    }
    const auto& taken = result.value();
    CHECK(taken.consumed <= piece.size());
    CHECK(taken.consumed > 0);
    CHECK(!taken.end || taken.data.empty());
    const std::string_view data(reinterpret_cast<const char*>(taken.data.data()),
                                taken.data.size());
    fuzz::expectWithin(data, piece);
    out.data.append(data);
    out.consumed += taken.consumed;
    out.end = taken.end ? End::done : End::more;
  }
  for (const http::Field& field : decoder.trailers().all()) {
    CHECK(out.end == End::done);
    CHECK(!http::forbiddenInTrailers(field.id));
    out.trailers += std::string(field.name) + ":" + std::string(field.value) + "\n";
  }
  return out;
}

void expectSame(const Body& a, const Body& b) {
  CHECK(a.end == b.end);
  CHECK(a.code == b.code);
  CHECK(a.data == b.data);
  CHECK(a.trailers == b.trailers);
  CHECK(a.end == End::error || a.consumed == b.consumed);
}

void expectRoundTrip(const Body& body) {
  std::string encoded;
  std::array<char, http::kChunkHeadSize> head;
  base::Random random = fuzz::cutsFor(body.data);
  for (size_t at = 0; at < body.data.size();) {
    const size_t size = std::min<size_t>(random.between(1, 70), body.data.size() - at);
    encoded.append(http::writeChunkHead(size, head));
    encoded.append(body.data, at, size);
    encoded.append(http::kChunkEnd);
    at += size;
  }
  encoded.append(http::kLastChunk);
  const Body again = decode(encoded, {}, [&] { return encoded.size(); });
  CHECK(again.end == End::done);
  CHECK(again.data == body.data);
  CHECK(again.consumed == encoded.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr http::ChunkLimits kSmall{
      .extension_bytes = 8, .extension_total_bytes = 20, .trailer_bytes = 40, .trailer_fields = 2};
  const std::string_view text = fuzz::textOf(data, size);
  base::Random random = fuzz::cutsFor(text);
  for (const http::ChunkLimits& limits : {http::ChunkLimits{}, kSmall}) {
    const Body whole = decode(text, limits, [&] { return text.size(); });
    expectSame(decode(text, limits, [] { return size_t{1}; }), whole);
    expectSame(decode(text, limits, [&] { return random.between(1, 20); }), whole);
    if (whole.end == End::done) {
      expectRoundTrip(whole);
    }
  }
  return 0;
}
