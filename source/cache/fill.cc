#include "source/cache/fill.h"

#include <algorithm>
#include <utility>

#include "source/cache/coded_stream.h"
#include "source/cache/labels.h"
#include "source/cache/refusal.h"
#include "source/cache/stripe.h"
#include "source/http/codec.h"
#include "source/http/hop_by_hop.h"
#include "source/http/serialize.h"
#include "source/policy/normalise.h"
#include "source/policy/partial.h"
#include "source/policy/search.h"
#include "source/policy/serve.h"
#include "source/policy/vary.h"

namespace cache {
namespace {

// A response of this kind is not the key's nature: the next one may well be stored.
bool passesSoon(policy::NoStoreReason why, uint16_t status) {
  return why == policy::NoStoreReason::request_no_store || status >= 500 ||
         why == policy::NoStoreReason::authorization || why == policy::NoStoreReason::disabled ||
         why == policy::NoStoreReason::unavailable || why == policy::NoStoreReason::min_uses ||
         why == policy::NoStoreReason::admission || why == policy::NoStoreReason::write_budget;
}

}  // namespace

Fill::Fill(Stripe& stripe, const FillRequest& request, uint64_t number, rt::CancelScope& parent)
    : stripe_(stripe),
      number_(number),
      scope_(parent),
      primary_key_(request.primary_key),
      key_(request.key),
      hash_(stripe.shared().hash(request.key)),
      raw_head_(request.raw_head),
      client_address_(request.client_address),
      via_(request.via),
      cdn_loop_(request.cdn_loop),
      snapshot_(*request.snapshot),
      host_(request.host),
      route_(request.route),
      directives_(request.directives),
      rule_(request.rule),
      by_path_(route_->policy.key.no_vary_search),
      asked_(request.asked),
      search_(request.search),
      stored_entry_(request.stored_entry),
      stored_text_(request.stored_head),
      slice_bytes_(request.slice_bytes),
      slice_block_(request.first_block),
      block_(request.block),
      record_primary_(request.primary_key),
      record_key_(request.key),
      record_hash_(hash_) {
  // The same bytes were parsed by the caller with its listener's limits.
  http::Limits limits;
  limits.head_bytes = UINT32_MAX;
  limits.line_bytes = UINT32_MAX;
  limits.fields = UINT16_MAX;
  const http::ParseOutcome parsed = http::parseRequestHead(raw_head_, limits, request_);
  CHECK(std::holds_alternative<http::Parsed>(parsed));
  request_.method = "GET";  // what the origin is asked with, for a HEAD, too
  const base::Result<http::Effective> uri =
      http::effectiveUri(request_, request.uri->scheme, authority_);
  CHECK(uri.ok());
  uri_ = uri.value();
  appendDirectoryLabels(primary_key_, stripe.shared().hash_seed, labels_);
  directories_ = labels_.size();
  http::Fields spare;
  policy::normaliseRequest(route_->policy, request_.fields, spare, normal_text_);
  if (!stored_text_.empty()) {
    const http::ParseOutcome stored = http::parseResponseHead(stored_text_, limits, stored_);
    CHECK(std::holds_alternative<http::Parsed>(stored));
    if (request.stored_weakened) {
      const std::string_view tag = policy::unweakened(stored_.fields.value(http::Name::etag));
      http::ResponseHead original;
      policy::replaceEntityTag(stored_, tag, original);
      stored_ = std::move(original);
    }
  }
}

Fill::~Fill() {
  CHECK(subscribers_ == 0);
  dropCoder();
  retireParts(0);
}

void Fill::fail(policy::UpstreamFailure failure) {
  failure_ = failure;
  how_ = has_head_ ? how_ : FillHead::failed;
  ended_ = true;
}

rt::Task<FetchOutcome> Fill::fetch(policy::FetchKind kind) {
  FetchPlan plan;
  plan.snapshot = snapshot_.get();
  plan.host = host_;
  plan.route = route_;
  plan.request = &request_;
  plan.uri = &uri_;
  plan.client_address = client_address_;
  plan.via = via_;
  plan.cdn_loop = cdn_loop_;
  plan.interim = block_.has_value() ? nullptr : this;
  plan.kind = kind;
  if (kind == policy::FetchKind::revalidate) {
    plan.validators = policy::validatorsOf(stored_.fields, stripe_.now());
  }
  if (block_.has_value()) {
    plan.validators.etag = block_->etag;
    range_ = policy::rangeText(block_->table.layout.rangeOf(block_->block));
  } else if (kind == policy::FetchKind::rest) {
    plan.validators.etag = partial_->etag;
    range_ = partial_->range;
  } else if (slice_bytes_ > 0) {
    const uint64_t first = slice_block_ * slice_bytes_;
    range_ = policy::rangeText({first, first + slice_bytes_ - 1});
  } else {
    range_.clear();
  }
  plan.range = range_;
  FetchOutcome outcome = co_await stripe_.origin().fetch(plan, scope_);
  co_return std::move(outcome);
}

void Fill::onInterim(const http::ResponseHead& head) {
  // 100 is about the body of a request, and ours has none.
  if (head.status == 100 || interims_.size() == kMaxInterims) {
    return;
  }
  std::string text;
  http::appendStatusLine(text, head.status, head.reason);
  const http::HopByHop hop(head.fields);
  for (const http::Field& field : head.fields.all()) {
    if (!hop.covers(field)) {
      http::appendField(text, field.name, field.value);
    }
  }
  http::appendHeadEnd(text);
  interims_.push_back(std::make_unique<const std::string>(std::move(text)));
  wake();
}

// What to ask for first.
rt::Task<policy::FetchKind> Fill::begin() {
  if (block_.has_value()) {
    co_return policy::FetchKind::rest;
  }
  policy::FetchKind kind =
      stored_text_.empty() ? policy::FetchKind::fill : policy::FetchKind::revalidate;
  if (kind == policy::FetchKind::fill && co_await findPartial()) {
    kind = policy::FetchKind::rest;
  }
  co_return kind;
}

rt::Task<void> Fill::run() {
  policy::FetchKind kind = co_await begin();
  Step step = Step::again;
  while (step == Step::again) {
    policy::Exchange exchange{stripe_.now(), {}, stripe_.draw()};
    FetchOutcome outcome = co_await fetch(kind);
    exchange.received = stripe_.now();
    if (outcome.stream == nullptr) {
      fail(outcome.failure);
      break;
    }
    info_.fwd_status = outcome.stream->head().status;
    step = co_await takeResponse(kind, exchange, *outcome.stream);
    if (step == Step::streams) {
      co_await takeBody(std::move(outcome.stream));
    } else {
      co_await outcome.stream->close();
    }
  }
  detached_ = true;
  ended_ = true;
  stripe_.fillEnded(*this);
  wake();
}

// Decides on a response. again: `kind` says what to ask for next.
rt::Task<Fill::Step> Fill::takeResponse(policy::FetchKind& kind, policy::Exchange exchange,
                                        OriginStream& stream) {
  const http::ResponseHead& response = stream.head();
  info_.head = StoredHead{};  // an answer before this one may have left something
  const bool part = response.status == 206 || response.status == 416;
  if (block_.has_value()) {
    co_return takeBlock(stream) ? Step::streams : Step::ended;
  }
  if (response.status == 304 && kind == policy::FetchKind::revalidate) {
    if (co_await validated(response, exchange)) {
      how_ = FillHead::validated;
      co_return Step::ended;
    }
    kind = policy::FetchKind::fill;  // what is stored is gone, or not the one that was meant
    co_return Step::again;
  }
  if (kind == policy::FetchKind::rest && part) {
    if (resume(response, exchange, stream.length())) {
      co_return Step::streams;
    }
    dropPartial();
    kind = policy::FetchKind::fill;  // not the rest of what is there
    co_return Step::again;
  }
  if (slice_bytes_ > 0 && part) {
    co_return co_await takeSlice(
        policy::judgeBlock(response, stream.length(), slice_block_, slice_bytes_), exchange,
        stream);
  }
  decide(response, exchange, stream.length(), Recoding::allowed);
  co_return Step::streams;
}

rt::Task<void> Fill::takeBody(std::unique_ptr<OriginStream> origin) {
  wake();
  if (coder_ != nullptr) {
    origin = std::make_unique<CodedStream>(std::move(origin), std::move(coder_),
                                           stripe_.codingFailures());
  }
  const bool whole = !abandoned() && co_await stream(*origin);
  co_await origin->close();
  origin.reset();
  dropCoder();
  if (whole) {
    co_await finish();
  } else {
    co_await keepPrefix();
    fail(policy::UpstreamFailure::truncated);
  }
}

// The response's head is there: whether it is stored, under which key, and what is sent of it.
void Fill::decide(const http::ResponseHead& received, policy::Exchange exchange,
                  std::optional<uint64_t> length, Recoding recoding) {
  policy::StoreDecision decision = policy::decideStore(request_, directives_, received, exchange,
                                                       route_->policy, route_->policy.set_cookie);
  info_.firsthand = !received.fields.has(http::Name::age);
  policy::Store* store = std::get_if<policy::Store>(&decision);
  policy::Store nothing;
  nothing.strip = policy::strippedFromAll(route_->policy);
  const bool for_leader = store != nullptr && store->strip != nothing.strip;
  policy::hideTagFields(tagRules(), store != nullptr ? store->strip : nothing.strip);
  std::optional<uint64_t> stored_length = length;
  Coded coded;
  if (store != nullptr && recoding == Recoding::allowed &&
      !recode(received, stored_length, *store, coded)) {
    decision = policy::NoStoreReason::unavailable;
    store = nullptr;
  }
  const http::ResponseHead& response = coded.changed ? coded.head : received;
  info_.length = stored_length;
  if (response.status == 204) {
    stored_length.reset();  // has no content, and no length of it (RFC 9110 8.6)
  }
  HeadText text = makeHeadText(
      response, policy::StoredFields(response.fields, store != nullptr ? *store : nothing),
      stored_length, exchange.received);
  if (store != nullptr) {
    if (const std::optional<policy::NoStoreReason> why = refuse(response, *store, text.text)) {
      decision = *why;
      store = nullptr;
    }
  }
  if (store == nullptr && coded.changed) {
    text = passOn(received, length, nothing, exchange);
  }
  if (store != nullptr && for_leader) {
    leader_text_ = fullText(response, *store, stored_length);
  }
  head_text_ = std::move(text.text);
  info_.head.status = response.status;
  info_.head.length_in_head = text.has_length;
  info_.head.text = head_text_;
  info_.head.received_s = policy::clampSeconds(exchange.received.s);
  if (store != nullptr) {
    info_.head.times = store->times;
    info_.head.traits = store->traits;
    info_.head.tags = tags_;
    encodeMeta(info_.head, meta_);
    completable_ = text.has_length && policy::canBeCompleted(response);
    storing_ = true;
    info_.stored = true;
  } else {
    info_.why_not = std::get<policy::NoStoreReason>(decision);
    // Its age as it arrived: freshness is not ours to compute, but Age is ours to pass on.
    info_.head.times.birth_s =
        policy::clampSeconds(exchange.received.s - policy::correctedInitialAge(received, exchange));
    passing_ = true;
    rememberMiss();
  }
  has_head_ = true;
  how_ = FillHead::response;
  detached_ = detached_ || passing_;
}

// The head for the client whose request brought the response: with what is not kept for others.
std::string Fill::fullText(const http::ResponseHead& response, const policy::Store& store,
                           std::optional<uint64_t> length) const {
  policy::Store keeping = store;
  keeping.strip = policy::strippedFromAll(route_->policy);
  policy::hideTagFields(tagRules(), keeping.strip);
  return makeHeadText(response, policy::StoredFields(response.fields, keeping), length,
                      base::UnixSeconds{info_.head.received_s})
      .text;
}

const policy::TagRules& Fill::tagRules() const {
  return snapshot_->caches[route_->cache].tags;
}

// The response's tags become the object's, and their labels, with those of its groups, known to
// purges; those that were made while they were not known are asked now. False when there are too
// many.
bool Fill::takeTags(const http::Fields& response) {
  const std::optional<std::string> tags = joinTags(response, tagRules());
  if (!tags.has_value()) {
    return false;
  }
  return useTags(*tags, response);
}

bool Fill::useTags(std::string_view tags, const http::Fields& response) {
  const uint64_t seed = stripe_.shared().hash_seed;
  tags_ = tags;
  labels_.resize(directories_);
  appendTagLabels(tags_, seed, labels_);
  appendGroupLabels(uri_, route_->policy.key, response, seed, labels_);
  if (stripe_.purgedSince(number_, labels_)) {
    purge();
  }
  return labels_.size() <= store::kMaxLabels;
}

uint32_t Fill::metaBytes() const {
  return static_cast<uint32_t>(meta_.size() + labels_.size() * sizeof(store::Label));
}

// Whether a head of this length can be kept with the tags and labels.
bool Fill::metaFits(size_t head_bytes) const {
  return sizeof(MetaHeader) + head_bytes + tags_.size() + labels_.size() * sizeof(store::Label) <=
         store::kMaxMetaBytes;
}

// Why a response that HTTP lets us store is not stored here and now.
std::optional<policy::NoStoreReason> Fill::refuse(const http::ResponseHead& response,
                                                  const policy::Store& store,
                                                  const std::string& head) {
  if (!stripe_.canStore()) {
    return policy::NoStoreReason::unavailable;
  }
  if (const std::optional<Refusal> refusal = operatorsRefusal(*route_, request_, uri_, response)) {
    refused_for_request_ = refusal->of_request;
    return refusal->why;
  }
  // What replaces a stored object has been asked for often enough before.
  if (!stored_entry_.has_value() && stripe_.uses(hash_) < route_->policy.min_uses) {
    return policy::NoStoreReason::min_uses;
  }
  if (!takeTags(response.fields)) {
    return policy::NoStoreReason::too_many_tags;
  }
  if (oversized() || !metaFits(head.size()) || !chooseKey(store, response.fields)) {
    return policy::NoStoreReason::too_large;
  }
  paid_bytes_ = info_.head.sliced ? 0 : info_.length.value_or(0);  // each block pays for itself
  return stripe_.refusedAdmission(hash_, stored_entry_.has_value(), paid_bytes_);
}

// Requests for this key need not wait for one another for a while.
void Fill::rememberMiss() {
  if (!refused_for_request_ && !passesSoon(info_.why_not, info_.head.status)) {
    stripe_.publishHitForMiss(hash_, kHitForMiss_s, info_.why_not);
  } else if (stored_entry_.has_value() && info_.head.status < 500) {
    stripe_.eraseIf(hash_, *stored_entry_);
  }
}

// The response's No-Vary-Search says which queries share it; those that joined by what the path's
// latest response had said may be others.
void Fill::choosePrimary(const http::Fields& response) {
  const std::string variance = policy::searchVarianceOf(response);
  if (variance.empty()) {
    search_.reset();
  } else if (!search_.has_value() || search_->names != variance) {
    search_ = VaryRule{stripe_.nextRuleId(), variance};
    new_search_ = true;
  }
  record_primary_ = search_.has_value() ? searchKey(*search_, asked_) : asked_;
  if (record_primary_ != primary_key_) {
    narrowed_ = primary_key_ != asked_;
    rule_.reset();
  }
}

// False when the key is too long to be kept.
bool Fill::chooseKey(const policy::Store& store, const http::Fields& response) {
  if (by_path_) {
    choosePrimary(response);
  }
  const std::string names = policy::joinVaryNames(store.vary);
  if (names.empty()) {
    rule_.reset();
    record_key_ = record_primary_;
  } else {
    if (!rule_.has_value() || rule_->names != names) {
      rule_ = VaryRule{stripe_.nextRuleId(), names};
      new_rule_ = true;
    }
    record_key_ = record_primary_;
    appendVariant(*rule_, request_.fields, record_key_);
  }
  record_hash_ = stripe_.shared().hash(record_key_);
  const size_t suffix = info_.head.sliced ? kSliceSuffix_bytes : 0;
  return record_key_.size() + suffix <= store::kMaxKeyBytes;
}

}  // namespace cache
