#include "source/policy/cache_status.h"

#include <algorithm>
#include <cstring>

#include "source/http/grammar.h"
#include "source/http/serialize.h"

namespace policy {
namespace {

// The greatest sf-integer (RFC 8941 3.3.1).
constexpr int64_t kMaxInteger = 999'999'999'999'999;

class Writer {
 public:
  explicit Writer(CacheStatusBuffer& out) : out_(out) {}

  void text(std::string_view s) {
    const size_t n = std::min(s.size(), out_.size() - used_);
    std::memcpy(out_.data() + used_, s.data(), n);
    used_ += n;
  }
  void number(int64_t value) {
    const int64_t bounded = std::clamp(value, -kMaxInteger, kMaxInteger);
    if (bounded < 0) {
      text("-");
    }
    std::array<char, http::kDecimalSize> digits;
    text(http::writeDecimal(static_cast<uint64_t>(bounded < 0 ? -bounded : bounded), digits));
  }
  // An sf-token begins with a letter and goes on with tchar, ":" and "/" (RFC 8941 3.3.4).
  void detail(std::string_view s) {
    size_t written = 0;
    for (const char c : s) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      const bool allowed =
          letter || (written > 0 && (http::is(http::kTchar, c) || c == ':' || c == '/'));
      if (!allowed || written == kMaxCacheStatusDetail) {
        continue;
      }
      text(written == 0 ? "; detail=" : "");
      text(std::string_view(&c, 1));
      written++;
    }
  }
  std::string_view written() const { return {out_.data(), used_}; }

 private:
  CacheStatusBuffer& out_;
  size_t used_ = 0;
};

}  // namespace

std::string_view name(Forward forward) {
  switch (forward) {
    case Forward::none:
      return "none";
    case Forward::bypass:
      return "bypass";
    case Forward::method:
      return "method";
    case Forward::uri_miss:
      return "uri-miss";
    case Forward::vary_miss:
      return "vary-miss";
    case Forward::miss:
      return "miss";
    case Forward::request:
      return "request";
    case Forward::stale:
      return "stale";
    case Forward::partial:
      return "partial";
  }
  return "unknown";
}

std::string_view formatCacheStatus(const CacheStatus& status, CacheStatusBuffer& buffer) {
  Writer writer(buffer);
  writer.text("ringfence");
  if (status.hit) {
    writer.text("; hit");  // RFC 9211 2.1: never together with fwd
  } else if (status.forward != Forward::none) {
    writer.text("; fwd=");
    writer.text(name(status.forward));
    if (status.fwd_status) {
      writer.text("; fwd-status=");
      writer.number(*status.fwd_status);
    }
  }
  if (status.ttl_s) {
    writer.text("; ttl=");
    writer.number(*status.ttl_s);
  }
  if (!status.hit) {
    writer.text(status.stored ? "; stored" : "");
    writer.text(status.collapsed ? "; collapsed" : "");
  }
  writer.detail(status.detail);
  return writer.written();
}

}  // namespace policy
