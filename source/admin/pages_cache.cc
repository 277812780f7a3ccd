// The caches: purging, listing, and explaining what a request would get.
#include <algorithm>
#include <charconv>

#include "source/admin/json.h"
#include "source/admin/pages.h"
#include "source/http/codec.h"
#include "source/http/grammar.h"
#include "source/http/uri.h"

namespace admin {
namespace {

const config::CacheConfig* findCache(const config::Snapshot& snapshot, std::string_view name) {
  const auto at = std::ranges::find(snapshot.caches, name, &config::CacheConfig::name);
  return at == snapshot.caches.end() ? nullptr : &*at;
}

std::string cacheNames(const config::Snapshot& snapshot) {
  if (snapshot.caches.empty()) {
    return "there are no caches";
  }
  std::string out = "there are:";
  for (const config::CacheConfig& cache : snapshot.caches) {
    out += (&cache == &snapshot.caches.front() ? " " : ", ") + cache.name;
  }
  return out;
}

// Either the cache that is meant, or the answer that says why not.
struct Chosen {
  std::string name;
  std::optional<Reply> problem;
};
Chosen chooseCache(const config::Snapshot& snapshot, const Arguments& arguments) {
  if (!arguments.has("cache")) {
    if (snapshot.caches.size() == 1) {
      return {snapshot.caches.front().name, {}};
    }
    return {{}, text(400, "parameter `cache` is missing; " + cacheNames(snapshot) + "\n")};
  }
  const std::string_view wanted = arguments.value("cache");
  if (findCache(snapshot, wanted) == nullptr) {
    return {{}, text(404, "no cache " + inTicks(wanted) + "; " + cacheNames(snapshot) + "\n")};
  }
  return {std::string(wanted), {}};
}

// nullopt, or what is wrong with a URL that must be absolute.
std::optional<std::string> checkUrl(std::string_view parameter, std::string_view url) {
  const base::Result<http::Target> target = http::parseTarget("GET", url);
  if (target.ok() && target.value().form == http::TargetForm::absolute) {
    return std::nullopt;
  }
  return "parameter " + inTicks(parameter) + ": " + inTicks(url) +
         " is not an absolute http or https URL, such as http://example.com/path\n";
}

enum class What : uint8_t { url, prefix, tag, all };
std::optional<What> whatToPurge(const Arguments& arguments) {
  std::optional<What> what;
  int given = 0;
  for (const auto& [name, meaning] : {std::pair<std::string_view, What>{"url", What::url},
                                      {"prefix", What::prefix},
                                      {"tag", What::tag},
                                      {"all", What::all}}) {
    if (arguments.has(name)) {
      what = meaning;
      given++;
    }
  }
  return given == 1 ? what : std::nullopt;
}

std::optional<std::string> given(const Arguments& arguments, std::string_view name) {
  return arguments.has(name) ? std::optional<std::string>(arguments.value(name)) : std::nullopt;
}

// The answer to a purge that is not to be tried.
std::optional<Reply> refusePurge(const Arguments& arguments) {
  const std::optional<What> what = whatToPurge(arguments);
  if (!what.has_value()) {
    return text(400,
                "exactly one of the parameters url, prefix, tag and all=1 says what to "
                "purge\n");
  }
  if (*what == What::all && arguments.value("soft") == "1") {
    return text(
        400, "parameter `soft` needs url, prefix or tag: everything can only be purged for good\n");
  }
  if (*what == What::tag && arguments.value("tag").empty()) {
    return text(400, "parameter `tag` is empty\n");
  }
  if (*what == What::all || *what == What::tag) {
    return std::nullopt;
  }
  const std::string_view parameter = *what == What::url ? "url" : "prefix";
  if (std::optional<std::string> wrong = checkUrl(parameter, arguments.value(parameter))) {
    return text(400, std::move(*wrong));
  }
  return std::nullopt;
}

constexpr uint32_t kPageObjects = 100;
constexpr uint32_t kMaxPageObjects = 1000;

// The answer to a list that is not to be tried; else sets the limit.
std::optional<Reply> refuseList(const Arguments& arguments, uint32_t& limit) {
  if (arguments.has("prefix") && arguments.has("tag")) {
    return text(400, "at most one of the parameters prefix and tag chooses objects\n");
  }
  if (arguments.has("tag") && arguments.value("tag").empty()) {
    return text(400, "parameter `tag` is empty\n");
  }
  if (arguments.has("prefix")) {
    if (std::optional<std::string> wrong = checkUrl("prefix", arguments.value("prefix"))) {
      return text(400, std::move(*wrong));
    }
  }
  limit = kPageObjects;
  if (arguments.has("limit")) {
    const std::string_view number = arguments.value("limit");
    const auto [end, failed] = std::from_chars(number.begin(), number.end(), limit);
    if (failed != std::errc() || end != number.end() || limit < 1 || limit > kMaxPageObjects) {
      return text(400, "parameter `limit`: " + inTicks(number) + " is not a number from 1 to " +
                           std::to_string(kMaxPageObjects) + "\n");
    }
  }
  return std::nullopt;
}

void writeListed(JsonWriter& out, const cache::ListedObject& object, base::UnixSeconds now) {
  out.beginObject();
  out.member("url", object.key);
  out.member("variant", !object.variant.empty());
  out.member("status", object.status);
  out.member("size", object.body_bytes);
  out.member("age_s", policy::ageOf(object.times, now));
  out.member("ttl_s", policy::freshnessLeft(object.times, now));
  out.member("hits", uint32_t{object.hits});
  out.member("purged_softly", object.stale_now);
  out.beginArray("tags");
  for (std::string_view left = object.tags; !left.empty();) {
    const size_t end = std::min(left.find('\n'), left.size());
    out.string(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  out.endArray();
  out.endObject();
}

using Headers = std::vector<std::pair<std::string, std::string>>;

// "Name:value" of each `header`; nullopt, or what is wrong.
std::optional<std::string> readHeaders(const Arguments& arguments, Headers& out) {
  for (const Arguments::Argument& argument : arguments.all()) {
    if (argument.name != "header") {
      continue;
    }
    const std::string_view text = argument.value;
    const size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    if (colon == std::string_view::npos || !http::isToken(name)) {
      return "parameter `header`: " + inTicks(text) + " is not Name:value\n";
    }
    std::string_view value = text.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    value = value.substr(0, value.find_last_not_of(" \t") + 1);
    if (!http::isFieldValue(value)) {
      return "parameter `header`: " + inTicks(value) + " is not a field value\n";
    }
    out.emplace_back(name, value);
  }
  return std::nullopt;
}

std::string_view foundName(cache::Found found) {
  switch (found) {
    case cache::Found::absent:
      return "absent";
    case cache::Found::hit_for_miss:
      return "hit_for_miss";
    case cache::Found::object:
      return "object";
  }
  return "absent";
}

struct TraitName {
  policy::Trait trait;
  std::string_view name;
};
constexpr TraitName kTraits[] = {
    {policy::Trait::no_cache, "no_cache"},
    {policy::Trait::must_revalidate, "must_revalidate"},
    {policy::Trait::has_etag, "has_etag"},
    {policy::Trait::has_strong_etag, "has_strong_etag"},
    {policy::Trait::has_last_modified, "has_last_modified"},
    {policy::Trait::immutable, "immutable"},
    {policy::Trait::heuristic, "heuristic"},
    {policy::Trait::operators, "operators"},
    {policy::Trait::server_error, "server_error"},
    {policy::Trait::own_stale_if_error, "own_stale_if_error"},
    {policy::Trait::targeted, "targeted"},
};

void writeHead(JsonWriter& out, std::string_view text) {
  http::ResponseHead head;
  const http::Limits any{UINT32_MAX, UINT16_MAX, UINT32_MAX};
  out.beginArray("headers");
  if (std::holds_alternative<http::Parsed>(http::parseResponseHead(text, any, head))) {
    for (const http::Field& field : head.fields.all()) {
      out.beginObject();
      out.member("name", field.name);
      out.member("value", field.value);
      out.endObject();
    }
  }
  out.endArray();
}

void writeObject(JsonWriter& out, const LookupReport& report, base::UnixSeconds now) {
  const std::string_view on_disk = report.large ? "disk, in chunks" : "disk";
  out.beginObject("variant");
  out.member("key", report.stored_key);
  out.member("vary", report.vary);
  if (!report.no_vary_search.empty()) {
    out.member("no_vary_search", report.no_vary_search);
  }
  out.endObject();
  out.member("where", report.in_memory ? std::string_view("memory") : on_disk);
  out.member("status", report.status);
  if (report.length.has_value()) {
    out.member("length", *report.length);
  }
  if (report.block_bytes > 0) {
    out.member("block_bytes", report.block_bytes);
  }
  out.member("age_s", policy::ageOf(report.times, now));
  out.member("freshness_lifetime_s",
             int64_t{report.times.fresh_until_s} - int64_t{report.times.birth_s});
  out.member("freshness_source", report.freshness_source);
  out.member("freshness_field", report.freshness_field);
  out.member("ttl_s", policy::freshnessLeft(report.times, now));
  out.member("born_at", formatTime(report.times.birth_s));
  out.member("fresh_until", formatTime(report.times.fresh_until_s));
  out.member("stale_while_revalidate_s", report.traits.swr_s);
  out.member("stale_if_error_s", report.traits.sie_s);
  out.member("purged_softly", report.stale_now);
  out.beginArray("traits");
  for (const TraitName& trait : kTraits) {
    if (report.traits.has(trait.trait)) {
      out.string(trait.name);
    }
  }
  out.endArray();
  writeHead(out, report.head);
}

}  // namespace

rt::Task<Reply> purgePage(Context& context, const Arguments& arguments) {
  if (std::optional<Reply> problem = refusePurge(arguments)) {
    co_return std::move(*problem);
  }
  Chosen chosen = chooseCache(context.control.snapshot(), arguments);
  if (chosen.problem.has_value()) {
    co_return std::move(*chosen.problem);
  }
  PurgeRequest request;
  request.cache = chosen.name;
  request.soft = arguments.value("soft") == "1";
  request.url = given(arguments, "url");
  request.prefix = given(arguments, "prefix");
  request.tag = given(arguments, "tag");
  const PurgeReport report = co_await context.control.purge(std::move(request));
  if (!report.ok) {
    co_return text(500, "the purge failed: " + report.error + "\n");
  }
  if (!wantsJson(arguments)) {
    co_return text(200, "purged " + std::to_string(report.purged) + "\n");
  }
  JsonWriter out;
  out.beginObject();
  out.member("cache", chosen.name);
  out.member("purged", report.purged);
  out.endObject();
  co_return json(out.take());
}

rt::Task<Reply> objectsPage(Context& context, const Arguments& arguments) {
  ListRequest request;
  request.prefix = given(arguments, "prefix");
  request.tag = given(arguments, "tag");
  request.after = arguments.value("after");
  if (std::optional<Reply> problem = refuseList(arguments, request.limit)) {
    co_return std::move(*problem);
  }
  Chosen chosen = chooseCache(context.control.snapshot(), arguments);
  if (chosen.problem.has_value()) {
    co_return std::move(*chosen.problem);
  }
  request.cache = chosen.name;
  const ListReport report = co_await context.control.list(std::move(request));
  if (!report.error.empty()) {
    co_return text(400, report.error + "\n");
  }
  JsonWriter out;
  out.beginObject();
  out.member("cache", chosen.name);
  out.beginArray("objects");
  for (const cache::ListedObject& object : report.objects) {
    writeListed(out, object, context.reactor.turn().wall);
  }
  out.endArray();
  if (!report.next.empty()) {
    out.member("next", report.next);
  }
  out.endObject();
  co_return json(out.take());
}

rt::Task<Reply> lookupPage(Context& context, const Arguments& arguments) {
  if (!arguments.has("url")) {
    co_return text(400, "parameter `url` is missing\n");
  }
  const std::string url(arguments.value("url"));
  if (std::optional<std::string> wrong = checkUrl("url", url)) {
    co_return text(400, std::move(*wrong));
  }
  Headers headers;
  if (std::optional<std::string> wrong = readHeaders(arguments, headers)) {
    co_return text(400, std::move(*wrong));
  }
  Chosen chosen = chooseCache(context.control.snapshot(), arguments);
  if (chosen.problem.has_value()) {
    co_return std::move(*chosen.problem);
  }
  const LookupReport report = co_await context.control.lookup(chosen.name, url, std::move(headers));
  if (!report.error.empty()) {
    co_return text(400, report.error + "\n");
  }
  JsonWriter out;
  out.beginObject();
  out.member("cache", chosen.name);
  out.member("url", url);
  out.member("key", report.key);
  out.member("listener", report.listener);
  out.member("virtual_host", report.virtual_host);
  out.member("route", report.route);
  out.member("owner_shard", report.owner_shard);
  out.member("stripe", report.stripe);
  out.member("found", report.found == cache::Found::object);
  out.member("state", foundName(report.found));
  out.member("would", report.would);
  out.member("why", report.why);
  if (report.found == cache::Found::hit_for_miss) {
    out.member("not_stored", report.not_stored);
  }
  if (report.found == cache::Found::object) {
    writeObject(out, report, context.reactor.turn().wall);
  }
  out.endObject();
  co_return json(out.take());
}

}  // namespace admin
