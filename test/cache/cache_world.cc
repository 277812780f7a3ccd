#include "test/cache/cache_world.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "source/base/check.h"
#include "source/http/codec.h"
#include "source/http/uri.h"
#include "source/policy/slice.h"

namespace cache {
namespace {

http::Limits wideLimits() {
  http::Limits limits;
  limits.head_bytes = 1 << 20;
  limits.line_bytes = 1 << 20;
  return limits;
}

uint64_t numberAfter(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  uint64_t number = 0;
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + name.size(), text.data() + text.size(), number);
  }
  return number;
}

}  // namespace

std::byte byteAt(uint64_t version, uint64_t offset) {
  return static_cast<std::byte>(((offset >> 3) * 0x9e3779b97f4a7c15ULL + version * 77) >> 56);
}

// The origin.

class ScriptedOrigin::Stream final : public OriginStream {
 public:
  Stream(ScriptedOrigin& origin, Answer answer) : origin_(origin), answer_(std::move(answer)) {
    text_ = answer_.head + "X-Version: " + std::to_string(answer_.version) + "\r\n\r\n";
    const http::ParseOutcome parsed = http::parseResponseHead(text_, wideLimits(), head_);
    CHECK(std::holds_alternative<http::Parsed>(parsed));
    origin_.running++;
  }
  const http::ResponseHead& head() const override { return head_; }
  std::optional<uint64_t> length() const override {
    return answer_.says_length ? std::optional<uint64_t>(answer_.bytes) : std::nullopt;
  }
  rt::Task<base::Result<uint32_t>> read(std::span<std::byte> to, rt::CancelScope& scope) override {
    CHECK(!to.empty());
    if (answer_.piece_delay_ns > 0) {
      const bool slept = co_await rt::Sleep(origin_.reactor_.now() + answer_.piece_delay_ns, scope);
      if (!slept) {
        co_return base::Error{base::Code::cancelled};
      }
    } else {
      co_await rt::Yield();
    }
    if (scope.requested()) {
      co_return base::Error{base::Code::cancelled};
    }
    if (at_ >= answer_.fails_after) {
      co_return base::Error{base::Code::peer_closed, base::Blame::upstream};
    }
    const uint64_t left = std::min(answer_.bytes, answer_.fails_after) - at_;
    const auto count =
        static_cast<uint32_t>(std::min<uint64_t>({to.size(), left, answer_.piece_bytes}));
    for (uint32_t i = 0; i < count; i++) {
      to[i] = byteAt(answer_.version, answer_.first + at_ + i);
    }
    at_ += count;
    origin_.bytes += count;
    co_return count;
  }
  rt::Task<void> close() override {
    CHECK(!closed_);
    closed_ = true;
    origin_.running--;
    co_return;
  }

 private:
  ScriptedOrigin& origin_;
  Answer answer_;
  std::string text_;
  http::ResponseHead head_;
  uint64_t at_ = 0;
  bool closed_ = false;
};

rt::Task<FetchOutcome> ScriptedOrigin::fetch(const FetchPlan& plan, rt::CancelScope& scope) {
  Answer answer = script_(plan, ++fetches);
  FetchOutcome outcome;
  const bool slept = co_await rt::Sleep(reactor_.now() + answer.head_delay_ns, scope);
  if (!slept || answer.refuses) {
    co_return std::move(outcome);
  }
  outcome.stream = std::make_unique<Stream>(*this, std::move(answer));
  co_return std::move(outcome);
}

// The world.

CacheWorld::CacheWorld(uint64_t seed, const Cut& cut, const sim::Options& options)
    : world(seed, options), cut_(cut), mesh_(cut.shards) {
  config::Route route;
  route.action = config::ForwardAction{};
  route.policy.enabled = true;
  route.policy.key.no_vary_search = cut.no_vary_search;
  route.policy.compression = cut.compression;
  route.policy.accept_encodings = cut.accept_encodings;
  route.policy.slice_block_bytes = cut.slice_bytes;
  route.cache = 0;
  host_.routes.push_back(std::move(route));
  config::CacheConfig cache;
  cache.tags.fields = {{"Surrogate-Key", policy::TagSeparator::space},
                       {"Cache-Tag", policy::TagSeparator::comma}};
  auto snapshot = std::make_shared<config::Snapshot>();
  snapshot->caches.push_back(std::move(cache));
  snapshot_ = std::move(snapshot);
  shared_ = std::make_unique<CacheShared>();
  shared_->name = "main";
  shared_->hash_seed = 3;
  shared_->limits.memory_bytes = cut.memory_bytes * cut.shards;
  shared_->limits.max_object_bytes = cut.max_object_bytes;
  shared_->shard_count = cut.shards;
  for (uint16_t i = 0; i < cut.shards; i++) {
    sim::SimHost& host = world.addHost({0, base::ShardId{i}});
    shards_.push_back(std::make_unique<Shard>(host, mesh_, base::ShardId{i}, cut.pool_bytes));
  }
  std::vector<CacheDisk> disks;
  for (uint16_t disk = 0; disk < cut.disks; disk++) {
    std::vector<std::unique_ptr<store::StripeShared>> stripes;
    for (uint32_t i = 0; i < cut.stripes; i++) {
      base::Result<std::unique_ptr<store::StripeShared>> stripe = store::makeStripeShared(
          openFiles(disk, i), 4096, static_cast<uint32_t>(world.options().wall_start_s));
      CHECK(stripe.ok());
      stripes.push_back(std::move(stripe.value()));
    }
    CacheDisk& added = disks.emplace_back();
    added.path = "disk-" + std::to_string(disk);
    added.number = disk;
    added.share = store::DiskShare{uint64_t{disk} + 1, cut.segments};
    CHECK(shared_->add(std::move(stripes), added));
  }
  disks_ = disks;
  shared_->disks = std::make_unique<DiskTable>(std::move(disks));
  for (const std::unique_ptr<Shard>& shard : shards_) {
    StripeServices services;
    services.reactor = &shard->reactor;
    services.peers = &shard->peers;
    services.pool = &shard->pool;
    services.reader = &shard->reader;
    services.origin = shard->origin.get();
    shard->caches.push_back(std::make_unique<ShardCache>(services, *shared_, 0));
    CHECK(shard->tasks.spawn(starting(shard.get())));
  }
  finish();
  for (const std::unique_ptr<Shard>& shard : shards_) {
    for (const std::unique_ptr<Stripe>& stripe : shard->caches[0]->stripes()) {
      CHECK(stripe == nullptr || stripe->store().ready());
    }
  }
}

CacheWorld::~CacheWorld() {
  if (!stopped_) {
    stop();
  }
  for (const std::unique_ptr<Shard>& shard : shards_) {
    CHECK(shard->pool.bytesInUse() == 0 && shard->origin->running == 0);
  }
  shards_.clear();
  for (const int fd : files_) {
    world.closeNow(fd);
  }
}

store::StripeFiles CacheWorld::openFiles(uint16_t disk, uint32_t stripe) {
  store::StripeFiles files;
  files.superblock.stripe = stripe;
  files.superblock.stripe_count = cut_.stripes;
  files.superblock.segment_bytes = cut_.segment_bytes;
  files.superblock.segment_count = cut_.segments;
  files.superblock.hash_seed = 3;
  files.superblock.cache_uuid[0] = static_cast<uint8_t>(disk);
  files.disk = disk;
  sim::FileSpec data;
  data.length = store::kDataOffset + uint64_t{cut_.segments} * cut_.segment_bytes;
  data.limit = data.length;
  data.direct = true;
  const std::string name = "stripe-" + std::to_string(disk) + "-" + std::to_string(stripe);
  sim::SimHost& host = shards_[0]->host;
  files.data_fd = world.openFile(host, name, data);
  sim::FileSpec small;
  small.limit = 8 << 20;
  for (size_t i = 0; i < 2; i++) {
    files.snapshot_fds[i] = world.openFile(host, name + "i" + std::to_string(i), small);
    files.journal_fds[i] = world.openFile(host, name + "p" + std::to_string(i), small);
  }
  files_.insert(files_.end(), {files.data_fd, files.snapshot_fds[0], files.snapshot_fds[1],
                               files.journal_fds[0], files.journal_fds[1]});
  return files;
}

rt::Task<void> CacheWorld::starting(Shard* shard) {
  shard->caches[0]->start();
  co_await shard->caches[0]->awaitRecovery(base::kNever);
}

rt::Task<void> CacheWorld::stopping(Shard* shard, bool* ended) {
  const uint32_t hung = co_await shard->caches[0]->stop(shard->reactor.now() + stop_patience_ns);
  stripes_hung += hung;
  if (ended != nullptr) {
    *ended = true;
  }
}

void CacheWorld::finish() {
  const bool ended = run(
      [this] {
        return std::all_of(shards_.begin(), shards_.end(),
                           [](const auto& shard) { return shard->tasks.size() == 0; });
      },
      1000 * base::kSecond_ns);
  CHECK(ended);
}

void CacheWorld::startStop(bool* ended) {
  stopped_ = true;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    CHECK(shard->tasks.spawn(stopping(shard.get(), ended)));
  }
}

void CacheWorld::stop() {
  startStop();
  finish();
}

uint64_t CacheWorld::fetches() const {
  uint64_t sum = 0;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    sum += shard->origin->fetches;
  }
  return sum;
}

uint64_t CacheWorld::inKernel() const {
  uint64_t sum = 0;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    sum += shard->host.engine().inFlight();
  }
  return sum;
}

uint64_t CacheWorld::inFlight() const {
  uint64_t sum = 0;
  for (const std::unique_ptr<Shard>& shard : shards_) {
    sum += shard->origin->running;
  }
  return sum;
}

void CacheWorld::setScript(const ScriptedOrigin::Script& script) {
  for (const std::unique_ptr<Shard>& shard : shards_) {
    shard->origin->setScript(script);
  }
}

Stripe& CacheWorld::stripeOf(const std::string& path) {
  const base::StripeId id = shared_->stripeOf(keyOf(path), cut_.no_vary_search);
  return *cache(base::index(shared_->ownerOf(id))).owned(id);
}

std::optional<store::Entry> CacheWorld::entry(const std::string& path) {
  return stripeOf(path).index().find(shared_->hash(keyOf(path)));
}

// Clients.

void CacheWorld::start(uint16_t shard, const Get& get, Got* got) {
  CHECK(shards_[shard]->tasks.spawn(getting(shards_[shard].get(), get, got)));
}

Got CacheWorld::get(const Get& get, uint16_t shard) {
  Got got;
  start(shard, get, &got);
  finish();
  return got;
}

rt::Task<void> CacheWorld::getting(Shard* shard, Get get, Got* got) {
  co_await rt::Yield();  // into a turn, whose clock is right
  const std::string raw = "GET " + get.path + " HTTP/1.1\r\nHost: h\r\n" + get.fields + "\r\n";
  http::RequestHead head;
  const http::ParseOutcome parsed = http::parseRequestHead(raw, wideLimits(), head);
  CHECK(std::holds_alternative<http::Parsed>(parsed));
  http::AuthorityBuffer authority;
  const base::Result<http::Effective> uri = http::effectiveUri(head, http::Scheme::http, authority);
  CHECK(uri.ok());
  ShardCache& cache = *shard->caches[0];
  rt::CancelScope scope;
  bool again = true;
  while (again && got->looks < 8) {
    again = false;
    got->looks++;
    Keys keys;
    keys.primary = keyOf(get.path);
    keys.by_path = cut_.no_vary_search;
    cache.locate(keys);
    Reader stored;
    const LookupResult seen = co_await cache.lookup(keys, head.fields, stored, scope, base::kNever);
    FillRequest request;
    request.head = &head;
    request.raw_head = raw;
    request.uri = &uri.value();
    request.snapshot = &snapshot_;
    request.host = &host_;
    request.route = &host_.routes[0];
    request.primary_key = keys.primary;
    request.key = keys.key();
    request.rule = keys.rule;
    request.asked = keys.asked;
    request.search = keys.search;
    request.slice_bytes = cut_.slice_bytes;
    if (cut_.slice_bytes > 0) {
      request.first_block = policy::firstBlockOf(head, cut_.slice_bytes);
    }
    if (seen.found == Found::hit_for_miss) {
      got->came = Came::alone;
    } else if (seen.found == Found::object) {
      const auto now_s = static_cast<uint64_t>(shard->reactor.turn().wall.s);
      if (!seen.stale_now && stored.head().times.fresh_until_s > now_s) {
        co_await reading(shard, get, request, stored, Came::hit, got);
      } else {
        request.stored_entry = seen.entry;
        request.stored_head = stored.head().text;
        request.stored_weakened = stored.head().weakened;
        again = co_await filling(shard, get, keys, request, seen, got);
      }
    } else {
      again = co_await filling(shard, get, keys, request, seen, got);
    }
    co_await stored.close();
  }
}

// True: look again.
rt::Task<bool> CacheWorld::filling(Shard* shard, const Get& get, const Keys& keys,
                                   FillRequest& request, const LookupResult& seen, Got* got) {
  ShardCache& cache = *shard->caches[0];
  Reader reader;
  const ShardCache::Acquired acquired = co_await cache.acquire(keys, request, seen, reader);
  if (acquired.how != AcquireHow::joined) {
    got->came = Came::alone;
    co_return acquired.how == AcquireHow::look_again;
  }
  got->collapsed = acquired.collapsed;
  if (get.leaves_at_head) {
    got->came = Came::left;
    co_await reader.close();
    co_return false;
  }
  const AwaitHeadCall answer =
      co_await cache.awaitHead(reader, request.head->fields, base::MonoTime{get.head_deadline_ns});
  bool again = false;
  switch (answer.how) {
    case FillHead::response:
      got->stored = answer.info.stored;
      co_await reading(shard, get, request, reader, Came::filled, got);
      break;
    case FillHead::validated:
    case FillHead::sliced:
      again = true;
      break;
    case FillHead::released:
      got->came = Came::released;
      break;
    case FillHead::changed:
    case FillHead::interim:
      CHECK(false);  // the origin here sends none
      break;
    case FillHead::failed:
      got->came = Came::failed;
      break;
    case FillHead::timed_out:
      got->came = Came::timed_out;
      break;
  }
  co_await reader.close();
  co_return again;
}

rt::Task<void> CacheWorld::reading(Shard* shard, const Get& get, const FillRequest& request,
                                   Reader& reader, Came whole, Got* got) {
  rt::CancelScope scope;
  got->head = reader.head().text;
  got->version = numberAfter(got->head, "X-Version: ");
  if (reader.source() == Reader::Source::sliced) {
    reader.useBlocks(request);
  }
  uint64_t at = 0;
  if (get.range_first.has_value()) {
    at = *get.range_first;
    reader.setRange(at, get.range_last);
  }
  if (get.reads_after_ns > 0) {
    co_await rt::Sleep(shard->reactor.now() + get.reads_after_ns, scope);
  }
  while (got->bytes < get.leaves_after) {
    const uint64_t reads = shard->reader.stats().reads;
    const base::Result<std::span<const std::byte>> piece = co_await reader.next(scope);
    if (!piece.ok()) {
      got->came = Came::cut;
      co_return;
    }
    if (whole == Came::filled && shard->reader.stats().reads != reads) {
      got->extents++;
    }
    if (piece.value().empty()) {
      got->came = whole;
      co_return;
    }
    got->take(piece.value(), at);
    if (get.piece_delay_ns > 0) {
      co_await rt::Sleep(shard->reactor.now() + get.piece_delay_ns, scope);
    }
  }
  got->came = Came::left;
}

}  // namespace cache
