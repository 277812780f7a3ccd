// What is stored compressed, or decompressed: the head and the length change, the body goes through
// a coder (policy/compression.h, coded_stream.h). What is not stored is passed on as it came.
#include <algorithm>
#include <utility>

#include "source/cache/fill.h"
#include "source/cache/stripe.h"
#include "source/policy/compression.h"

namespace cache {
namespace {

constexpr std::string_view kAcceptEncoding = "accept-encoding";

}  // namespace

// False: it would have to be decompressed, and cannot be now.
bool Fill::recode(const http::ResponseHead& received, std::optional<uint64_t>& length,
                  policy::Store& store, Coded& coded) {
  policy::CodingPlan plan = policy::planCoding(request_.fields, received, length, route_->policy);
  if (!plan.negotiated) {
    return true;
  }
  if (plan.what != policy::Recode::none) {
    coder_ = stripe_.takeCoder(plan, route_->policy.compression->level);
    has_coder_ = coder_ != nullptr;
    if (!has_coder_ && plan.what == policy::Recode::decompress) {
      return false;
    }
    plan.what = has_coder_ ? plan.what : policy::Recode::none;
  }
  const auto at = std::lower_bound(store.vary.begin(), store.vary.end(), kAcceptEncoding);
  if (at == store.vary.end() || *at != kAcceptEncoding) {
    store.vary.emplace(at, kAcceptEncoding);
  }
  policy::recodeHead(received, plan, coded.head, coded.tag);
  coded.changed = true;
  if (plan.what != policy::Recode::none) {
    length.reset();
    info_.head.recoded = true;
    info_.head.weakened = policy::hasStrongTag(received.fields);
  }
  return true;
}

// It is not stored after all.
HeadText Fill::passOn(const http::ResponseHead& received, std::optional<uint64_t> length,
                      policy::Store nothing, policy::Exchange exchange) {
  dropCoder();
  info_.head.recoded = false;
  info_.head.weakened = false;
  info_.length = length;
  policy::hideTagFields(tagRules(), nothing.strip);
  return makeHeadText(received, policy::StoredFields(received.fields, nothing), length,
                      exchange.received);
}

void Fill::dropCoder() {
  coder_.reset();
  if (std::exchange(has_coder_, false)) {
    stripe_.giveCoder();
  }
}

}  // namespace cache
