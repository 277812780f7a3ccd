#include "source/policy/slice.h"

#include <limits>

#include "source/policy/partial.h"

namespace policy {

uint64_t firstBlockOf(const http::RequestHead& request, uint64_t block_bytes) {
  if (request.fields.count(http::Name::range) != 1) {
    return 0;
  }
  const auto parsed = http::parseRange(request.fields.value(http::Name::range));
  const auto* set = std::get_if<http::RangeSet>(&parsed);
  if (set == nullptr || set->count == 0 || set->specs[0].kind == http::RangeKind::suffix) {
    return 0;
  }
  const uint64_t block = set->specs[0].first / block_bytes;
  // Its last byte must have a number.
  return block < std::numeric_limits<uint64_t>::max() / block_bytes ? block : 0;
}

std::string rangeText(http::ByteRange range) {
  return "bytes=" + std::to_string(range.first) + "-" + std::to_string(range.last);
}

BlockAnswer judgeBlock(const http::ResponseHead& response, std::optional<uint64_t> body_length,
                       uint64_t block, uint64_t block_bytes) {
  BlockAnswer answer;
  if (response.status == 416) {
    answer.kind = BlockAnswer::Kind::beyond;
    return answer;
  }
  if (response.status != 206) {
    return answer;
  }
  answer.kind = BlockAnswer::Kind::unusable;
  const auto got = http::parseContentRange(response.fields.value(http::Name::content_range));
  if (response.fields.count(http::Name::content_range) != 1 || !got || !got->range ||
      got->length.value_or(0) == 0) {
    return answer;
  }
  const SliceLayout layout{*got->length, block_bytes};
  if (block * block_bytes >= layout.length || *got->range != layout.rangeOf(block) ||
      body_length.value_or(got->range->length()) != got->range->length()) {
    return answer;
  }
  answer.length = layout.length;
  if (got->range->length() == layout.length) {
    answer.kind = BlockAnswer::Kind::whole;
  } else if (!strongTagOf(response.fields).empty()) {
    answer.kind = BlockAnswer::Kind::block;
  }
  return answer;
}

bool isBlock(const http::ResponseHead& response, std::optional<uint64_t> body_length,
             const SliceLayout& layout, uint64_t block, std::string_view etag) {
  const BlockAnswer answer = judgeBlock(response, body_length, block, layout.block_bytes);
  return answer.kind == BlockAnswer::Kind::block && answer.length == layout.length &&
         strongTagOf(response.fields) == etag;
}

void wholeOf(const http::ResponseHead& part, http::ResponseHead& out) {
  out.status = 200;
  out.minor = part.minor;
  out.reason = "OK";
  out.fields.clear();
  for (const http::Field& field : part.fields.all()) {
    if (field.id != http::Name::content_range && field.id != http::Name::content_length) {
      out.fields.add(field.id, field.name, field.value);
    }
  }
}

}  // namespace policy
