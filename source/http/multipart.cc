#include "source/http/multipart.h"

#include <algorithm>

#include "source/http/serialize.h"

namespace http {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr size_t kHalf = kBoundarySize / 2;

void writeHex(uint64_t value, std::span<char, kHalf> out) {
  for (size_t i = 0; i < kHalf; i++) {
    out[i] = kHex[(value >> (60 - 4 * i)) & 15];
  }
}

}  // namespace

MultipartRanges::MultipartRanges(const Of& of, base::Hash128 random)
    : count_(std::min(of.ranges.size(), kMaxRanges)),
      length_(of.length),
      content_type_(of.content_type) {
  std::copy_n(of.ranges.begin(), count_, ranges_.begin());
  writeHex(random.hi, std::span(boundary_).first<kHalf>());
  writeHex(random.lo, std::span(boundary_).last<kHalf>());
}

std::string MultipartRanges::contentType() const {
  return std::string("multipart/byteranges; boundary=").append(boundary());
}

void MultipartRanges::appendPartHead(size_t number, std::string& out) const {
  out.append(number == 0 ? "--" : "\r\n--").append(boundary()).append("\r\n");
  if (!content_type_.empty()) {
    appendField(out, Name::content_type, content_type_);
  }
  std::array<char, kContentRangeSize> text;
  appendField(out, Name::content_range, writeContentRange({ranges_[number], length_}, text));
  appendHeadEnd(out);
}

void MultipartRanges::appendEnd(std::string& out) const {
  out.append("\r\n--").append(boundary()).append("--\r\n");
}

uint64_t MultipartRanges::bodyBytes() const {
  std::string around;
  uint64_t bytes = 0;
  for (size_t i = 0; i < count_; i++) {
    appendPartHead(i, around);
    bytes += ranges_[i].length();
  }
  appendEnd(around);
  return bytes + around.size();
}

}  // namespace http
