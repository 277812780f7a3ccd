// Ranges of what is stored, or arriving: 206 with one range or with several in parts, and 416 (RFC
// 9110 14, 15.3.7).
//
// Limits: http::kMaxRanges in a request; beyond it the whole is sent (cache_ranges_too_many).
#include <array>

#include "source/policy/range_plan.h"
#include "source/proxy/session.h"

namespace proxy {
namespace {

// 128 bits that whoever made the content could not foresee: the cache's seed is secret.
base::Hash128 boundaryBits(uint64_t seed, uint64_t session, base::MonoTime now) {
  const std::array<uint64_t, 2> moment{session, now.ns};
  return base::hash128(
      std::string_view(reinterpret_cast<const char*>(moment.data()), sizeof(moment)), seed);
}

}  // namespace

// Changes the shape to what the request's Range says, and gives the value of Content-Range, or of
// Content-Type when the content is several parts; empty: the whole is sent.
std::string Session::shapeRange(Request& request, cache::Reader& reader, Shape& shape) {
  const uint64_t length = *shape.length;
  const http::ResponseHead& stored = request.scratch.stored;
  const policy::Access access = reader.source() == cache::Reader::Source::fill
                                    ? policy::Access::forward
                                    : policy::Access::anywhere;
  const policy::RangePlan plan =
      policy::planRange(request.head(), stored, length, context_.reactor.turn().wall, access);
  ProxyStats& stats = context_.stats;
  stats.cache_ranges_joined += plan.note == policy::RangePlan::Note::joined ? 1 : 0;
  stats.cache_ranges_too_many += plan.note == policy::RangePlan::Note::too_many ? 1 : 0;
  stats.cache_ranges_unordered += plan.note == policy::RangePlan::Note::unordered ? 1 : 0;
  std::array<char, http::kContentRangeSize> text;
  switch (plan.kind) {
    case policy::RangePlan::Kind::whole:
      break;
    case policy::RangePlan::Kind::single: {
      const http::ByteRange wanted = plan.parts()[0];
      reader.setRange(wanted.first, wanted.last);
      shape.status = 206;
      shape.length = wanted.length();
      return std::string(http::writeContentRange({wanted, length}, text));
    }
    case policy::RangePlan::Kind::multi: {
      stats.cache_multipart++;
      const http::MultipartRanges::Of of{plan.parts(), length,
                                         stored.fields.value(http::Name::content_type)};
      shape.parts = std::make_unique<http::MultipartRanges>(
          of, boundaryBits(cacheOf(request).shared().hash_seed, id_, context_.reactor.now()));
      shape.status = 206;
      shape.length = shape.parts->bodyBytes();
      return shape.parts->contentType();
    }
    case policy::RangePlan::Kind::unsatisfiable:
      shape.status = 416;
      shape.length = 0;
      return std::string(http::writeContentRange({std::nullopt, length}, text));
  }
  return {};
}

// The head in scratch.text goes out with the first piece.
rt::Task<void> Session::sendParts(Request& request, cache::Reader& reader,
                                  const http::MultipartRanges& parts) {
  std::string_view head = request.scratch.text;
  std::string before;
  for (size_t i = 0; i < parts.parts().size(); i++) {
    const http::ByteRange& range = parts.parts()[i];
    before.clear();
    parts.appendPartHead(i, before);
    reader.setRange(range.first, range.last);
    if (!co_await sendPart(request, reader, head, before)) {
      co_return;
    }
    head = {};
  }
  before.clear();
  parts.appendEnd(before);
  static_cast<void>(co_await write(request, {}, {}, false, before));
}

// False when the response ends here: the client has gone, it had to be cut off, or it came from the
// origin instead.
rt::Task<bool> Session::sendPart(Request& request, cache::Reader& reader, std::string_view head,
                                 std::string_view before) {
  while (true) {
    base::Result<std::span<const std::byte>> next = co_await reader.next(scope_);
    if (!next.ok()) {
      const bool begun = head_sent_;
      if (begun && !before.empty() && !co_await write(request, {}, {}, false, before)) {
        co_return false;
      }
      const bool done = co_await sendRest(request, reader, head, false, next.error());
      co_return done&& begun;
    }
    if (next.value().empty()) {
      co_return true;
    }
    const Held held = reader.isPooled() ? Held::pooled : Held::own;
    if (!co_await write(request, head, next.value(), false, before, held)) {
      co_return false;
    }
    head = {};
    before = {};
  }
}

}  // namespace proxy
