// Goal: every decision is total over arbitrary bytes, and the properties of reuse hold for them.
// Input: three field sections (request, response, update) divided by a line of "--", one field a
// line as "Name: value"; the first byte chooses status and options.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "source/base/check.h"
#include "source/http/grammar.h"
#include "source/policy/cache_status.h"
#include "source/policy/conditional.h"
#include "source/policy/error.h"
#include "source/policy/range_plan.h"
#include "source/policy/request.h"
#include "source/policy/response.h"
#include "source/policy/serve.h"
#include "source/policy/upstream.h"
#include "source/policy/vary.h"

namespace {

using base::UnixSeconds;

constexpr UnixSeconds kNow{1'800'000'000};

class Sections {
 public:
  explicit Sections(std::string_view rest) : rest_(rest) {}

  // What a parser would let through: token names, trimmed values of field characters.
  void next(http::Fields& out) {
    while (!rest_.empty()) {
      const size_t end = std::min(rest_.find('\n'), rest_.size());
      const std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      if (line == "--") {
        return;
      }
      const size_t colon = line.find(':');
      if (colon == std::string_view::npos) {
        continue;
      }
      const std::string_view name = line.substr(0, colon);
      const std::string_view value = http::trimOws(line.substr(colon + 1));
      if (http::isToken(name) && http::isFieldValue(value)) {
        out.add(name, value);
      }
    }
  }

 private:
  std::string_view rest_;
};

bool uses(policy::Serve how) {
  return how == policy::Serve::fresh || how == policy::Serve::stale ||
         how == policy::Serve::stale_while_revalidate;
}

void checkReuse(const policy::RequestDirectives& asked, const policy::Store& store,
                const policy::RoutePolicy& route) {
  bool was_used = true;
  for (const int64_t later_s : {0, 1, 2, 30, 60, 3600, 86400, 2'000'000'000}) {
    const UnixSeconds now{kNow.s + later_s};
    const policy::ServeDecision decision =
        policy::decideServe(asked, store.times, store.traits, route, now);
    const bool used = uses(decision.how);
    CHECK(was_used || !used);
    CHECK(!used || !store.traits.has(policy::Trait::no_cache));
    CHECK(decision.how != policy::Serve::fresh || decision.ttl_s > 0);
    was_used = used;
    const policy::ErrorAnswer answer = policy::onUpstreamError(
        policy::UpstreamFailure::reset, store.times, store.traits, asked, route, now);
    const bool stale = answer == policy::ErrorAnswer::serve_stale && decision.ttl_s <= 0;
    CHECK(!stale || !store.traits.forbidsStale());
  }
}

void checkRanges(const http::RequestHead& request, const http::ResponseHead& response) {
  for (const uint64_t length : {uint64_t{0}, uint64_t{1}, uint64_t{1000}, UINT64_MAX}) {
    for (const policy::Access access : {policy::Access::anywhere, policy::Access::forward}) {
      const policy::RangePlan plan = policy::planRange(request, response, length, kNow, access);
      for (const http::ByteRange& range : plan.parts()) {
        CHECK(range.first <= range.last && range.last < length);
      }
      CHECK((plan.kind == policy::RangePlan::Kind::single) == (plan.count == 1));
    }
  }
}

void checkUpstream(const http::RequestHead& request, const http::ResponseHead& response) {
  policy::UpstreamPlan plan;
  const policy::Validators validators = policy::validatorsOf(response.fields, kNow);
  plan.etag = validators.etag;
  plan.last_modified = validators.last_modified;
  plan.client_address = "192.0.2.1";
  plan.via = "ringfence";
  http::Fields out;
  std::string scratch;
  for (const policy::FetchKind kind :
       {policy::FetchKind::pass, policy::FetchKind::fill, policy::FetchKind::revalidate}) {
    plan.kind = kind;
    policy::planUpstream(request, plan, out, scratch);
    CHECK(!out.has(http::Name::connection) && !out.has(http::Name::transfer_encoding));
    CHECK(kind == policy::FetchKind::pass || !out.has(http::Name::range));
    CHECK(kind != policy::FetchKind::fill || !out.has(http::Name::if_none_match));
    CHECK(out.count(http::Name::x_forwarded_for) == 1);
  }
}

void checkMerge(const http::ResponseHead& stored, const http::ResponseHead& update) {
  http::ResponseHead merged;
  policy::mergeOn304(stored, update, merged);
  for (const http::Name id : {http::Name::content_encoding, http::Name::content_length}) {
    CHECK(merged.fields.count(id) == stored.fields.count(id));
    CHECK(merged.fields.value(id) == stored.fields.value(id));
  }
  policy::selectsStored(stored.fields, update.fields, kNow);
  policy::changesVary(stored.fields, update.fields);
  policy::headEffect(stored, 5, update, kNow);
}

void checkVariants(const policy::Store& store, const http::Fields& request) {
  CHECK(policy::splitVaryNames(policy::joinVaryNames(store.vary)) == store.vary);
  std::string key = "k";
  std::string again = "k";
  policy::appendVariantKey(store.vary, request, key);
  policy::appendVariantKey(store.vary, request, again);
  CHECK(key == again);
  CHECK(static_cast<size_t>(std::count(key.begin(), key.end(), '\n')) == store.vary.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  static constexpr std::array<uint16_t, 8> kStatuses = {200, 204, 206, 301, 304, 404, 503, 599};
  const uint8_t choice = data[0];
  Sections sections(std::string_view(reinterpret_cast<const char*>(data + 1), size - 1));
  http::RequestHead request;
  request.method = (choice & 0x10) != 0 ? "HEAD" : "GET";
  http::ResponseHead response;
  response.status = kStatuses[choice & 7];
  http::ResponseHead update;
  update.status = 304;
  sections.next(request.fields);
  sections.next(response.fields);
  sections.next(update.fields);
  policy::RoutePolicy route;
  route.enabled = true;
  route.honor_request_cache_control = (choice & 0x20) != 0;
  route.min_ttl_s = (choice & 0x40) != 0 ? 10 : 0;

  const policy::RequestClass kind = policy::classifyRequest(request, route);
  const policy::Lookup* lookup = std::get_if<policy::Lookup>(&kind);
  const policy::RequestDirectives asked =
      lookup != nullptr ? lookup->directives : policy::RequestDirectives{};
  const policy::StoreDecision decision = policy::decideStore(
      request, asked, response, policy::Exchange{kNow, kNow}, route, policy::SetCookie::strip);
  const policy::ResponseDirectives said = policy::parseResponseDirectives(response.fields);
  if (const auto* store = std::get_if<policy::Store>(&decision)) {
    CHECK(!asked.no_store && !said.private_response);
    CHECK(!said.no_store || said.must_understand);
    checkReuse(asked, *store, route);
    checkVariants(*store, request.fields);
    const policy::StoredFields stored(response.fields, *store);
    for (const http::Field& field : response.fields.all()) {
      CHECK(!stored.keeps(field) || field.id != http::Name::set_cookie);
    }
  } else {
    policy::CacheStatus status;
    status.forward = policy::Forward::uri_miss;
    status.detail = request.fields.value(http::Name::cookie);
    policy::CacheStatusBuffer buffer;
    policy::formatCacheStatus(status, buffer);
  }
  policy::evaluateConditional(request, response, kNow, kNow, policy::Evaluator::origin);
  checkRanges(request, response);
  checkUpstream(request, response);
  checkMerge(response, update);
  return 0;
}
