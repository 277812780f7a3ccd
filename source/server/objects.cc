// Listing what a cache holds, a page at a time. A page's end is named by stripe and position in the
// stripe's log, so nothing is kept between two pages.
#include <charconv>
#include <utility>

#include "source/cache/labels.h"
#include "source/policy/invalidate.h"
#include "source/server/key_rules.h"
#include "source/server/server.h"

namespace server {

// Where a page begins: behind this position of this stripe (counted over the disks in use), for
// this form of the prefix.
struct ListCursor {
  uint16_t form = 0;
  uint16_t stripe = 0;
  store::LogPosition after;
};

namespace {

constexpr int kMaxCalls = 64;  // for one page; an admin's client asks again

std::string textOf(const ListCursor& cursor) {
  return std::to_string(cursor.form) + "." + std::to_string(cursor.stripe) + "." +
         std::to_string(cursor.after.sequence) + "." + std::to_string(cursor.after.offset_units);
}

template <class Number>
bool takeNumber(std::string_view& text, Number& out, bool last) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc()) {
    return false;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (last) {
    return text.empty();
  }
  const bool dot = text.starts_with('.');
  text.remove_prefix(dot ? 1 : 0);
  return dot;
}

// Why a page could not be had, naming the disk.
std::string whyNot(const base::Error& error, const cache::CacheShared& shared, uint16_t stripe) {
  std::string path = "a disk that leaves";
  for (const cache::CacheDisk& disk : shared.disks->all()) {
    const bool on_it =
        stripe >= disk.first_stripe && stripe < disk.first_stripe + disk.stripe_count;
    path = on_it ? disk.path : path;
  }
  const std::string where = path + " (stripe " + std::to_string(stripe) + "): ";
  switch (error.code) {
    case base::Code::timeout:
      return where + "the disk did not answer within " +
             std::to_string(cache::kListPatience_ns / base::kSecond_ns) + " s; ask again later";
    case base::Code::no_capacity:
      return where + "refused, too many lists wait for this disk";
    default:
      return where + std::string(base::name(error.code));
  }
}

bool parseCursor(std::string_view text, ListCursor& out) {
  return text.empty() ||
         (takeNumber(text, out.form, false) && takeNumber(text, out.stripe, false) &&
          takeNumber(text, out.after.sequence, false) &&
          takeNumber(text, out.after.offset_units, true));
}

}  // namespace

rt::Task<admin::ListReport> Server::list(admin::ListRequest request) {
  admin::ListReport report;
  const AdminCall running = admin_calls_;
  const FoundCache found = findCache(request.cache);
  const cache::CacheShared* shared = found.shared;
  if (shared == nullptr) {
    report.error = "there is no cache named " + request.cache;
    co_return report;
  }
  std::vector<store::Selector> selectors;
  policy::OwnedUri uri;
  if (request.prefix.has_value() && !policy::parseAbsoluteUri(*request.prefix, uri)) {
    report.error = "prefix: not an absolute http or https URL";
    co_return report;
  }
  if (request.prefix.has_value()) {
    for (const UrlKey& key : keysOf(uri, keySpecs(*config_.snapshot, found.index))) {
      selectors.push_back(cache::selectPrefix(key.text, shared->hash_seed));
    }
  } else if (request.tag.has_value()) {
    selectors.push_back(cache::selectTag(*request.tag, shared->hash_seed));
  }
  ListCursor cursor;
  if (!parseCursor(request.after, cursor) || cursor.stripe >= shared->disks->stripeIds().size()) {
    report.error = "after: not the `next` of an earlier page of this cache";
    co_return report;
  }
  for (int i = 0; i < kMaxCalls && report.objects.size() < request.limit; i++) {
    const bool all = selectors.empty();
    if (cursor.form >= (all ? 1 : selectors.size())) {
      co_return report;
    }
    const store::Selector* selector = all ? nullptr : &selectors[cursor.form];
    if (!co_await listFrom(request, found.number, selector, cursor, report)) {
      co_return report;
    }
  }
  report.next = cursor.form < std::max<size_t>(selectors.size(), 1) ? textOf(cursor) : "";
  co_return report;
}

// One call to the stripe of the cursor, which moves on. False after an error.
rt::Task<bool> Server::listFrom(const admin::ListRequest& request, uint16_t cache,
                                const store::Selector* selector, ListCursor& cursor,
                                admin::ListReport& report) {
  const cache::CacheShared& shared = *caches_[cache];
  cache::ListCall call;
  call.cache = cache;
  const std::vector<base::StripeId> stripes = shared.disks->stripeIds();
  if (cursor.stripe >= stripes.size()) {
    report.error = "the cache's disks have changed; begin anew";
    co_return false;
  }
  call.stripe = base::index(stripes[cursor.stripe]);
  call.selector = selector;
  call.after = cursor.after;
  call.limit = request.limit - static_cast<uint32_t>(report.objects.size());
  co_await callOne(base::index(shared.ownerOf(base::StripeId{call.stripe})), &call);
  if (call.error.code != base::Code::ok) {
    report.error = whyNot(call.error, shared, call.stripe);
    co_return false;
  }
  for (cache::ListedObject& object : call.objects) {
    report.objects.push_back(std::move(object));
  }
  if (call.next.has_value()) {
    cursor.after = *call.next;
    co_return true;
  }
  cursor.after = store::LogPosition{};
  cursor.stripe++;
  if (cursor.stripe == stripes.size()) {
    cursor.stripe = 0;
    cursor.form++;
  }
  co_return true;
}

}  // namespace server
