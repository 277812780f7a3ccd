#include "test/store/io/stripe_world.h"

#include <cstring>
#include <utility>

#include "source/store/core/record_writer.h"

namespace store {
namespace {

constexpr uint64_t kPatience_ns = 3000 * base::kSecond_ns;
// Nothing takes so long on the disks of these tests.

}  // namespace

std::vector<std::byte> bodyOf(const std::string& key, uint64_t version, uint32_t bytes) {
  uint64_t word = base::hash64(key, version) | 1;
  std::vector<std::byte> body(bytes);
  for (size_t at = 0; at < body.size(); at += 8) {
    word *= 0x9e3779b97f4a7c15ULL;
    std::memcpy(body.data() + at, &word, std::min<size_t>(8, body.size() - at));
  }
  return body;
}

Life::Life(StripeWorld& world)
    : world_(world),
      process_(world.next_process++),
      host_(world.world.addHost({process_, base::ShardId{0}})),
      pool_(world.cut.pool_bytes) {
  CHECK(pool_.ok());
  pool_.setRegistered(host_.engine().registerRegion(pool_.region()));
  host_.reactor();
  const auto now_s = static_cast<uint32_t>(host_.engine().wall().s);
  base::Result<std::unique_ptr<StripeShared>> shared =
      makeStripeShared(openFiles(), world.cut.index_objects, now_s);
  CHECK(shared.ok());
  shared_ = std::move(shared.value());
  shared_->filter_bytes = world.cut.filter_bytes.value_or(shared_->filter_bytes);
  reader_ = std::make_unique<RecordReader>(host_.reactor(), pool_, world.cut.reads);
  store_ = std::make_unique<StripeStore>(host_.reactor(), *reader_, *shared_);
}

Life::~Life() {
  if (!over_) {
    stop();
  }
  CHECK(pool_.bytesInUse() == 0 ||
        world_.world.run([this] { return pool_.bytesInUse() == 0; },
                         world_.world.now() + kPatience_ns) == sim::Ran::done);
  store_.reset();
  reader_.reset();
  for (const int fd : files_) {
    world_.world.closeNow(fd);
  }
}

StripeFiles Life::openFiles() {
  const StripeWorld::Cut& cut = world_.cut;
  StripeFiles files;
  files.superblock.stripe_count = 1;
  files.superblock.segment_bytes = cut.segment_bytes;
  files.superblock.segment_count = cut.segments;
  files.superblock.cache_uuid.fill(0x5a);
  sim::FileSpec data;
  data.length =
      kDataOffset + uint64_t{std::max(cut.segments, cut.most_segments)} * cut.segment_bytes;
  data.limit = data.length;
  data.direct = true;
  sim::FileSpec small;
  small.limit = 32 << 20;
  files.data_fd = world_.world.openFile(host_, "data", data);
  for (size_t i = 0; i < 2; i++) {
    files.snapshot_fds[i] = world_.world.openFile(host_, "index-" + std::to_string(i), small);
    files.journal_fds[i] = world_.world.openFile(host_, "purge-" + std::to_string(i), small);
  }
  files_ = {files.data_fd, files.snapshot_fds[0], files.snapshot_fds[1], files.journal_fds[0],
            files.journal_fds[1]};
  return files;
}

void Life::finish() {
  const sim::Ran ran = world_.world.runToEnd(host_, world_.world.now() + kPatience_ns);
  CHECK(ran == sim::Ran::done);
}

rt::Task<void> Life::recovering(Unreadable unreadable,
                                std::optional<base::Result<RecoveryReport>>* report) {
  base::Result<RecoveryReport> result = co_await store_->recover(host_.scope(), unreadable);
  report->emplace(result);
}

base::Result<RecoveryReport> Life::recover(Unreadable unreadable) {
  std::optional<base::Result<RecoveryReport>> report;
  host_.spawn(recovering(unreadable, &report));
  finish();
  return *report;
}

rt::Task<void> Life::resizing(uint32_t segments, bool* done) {
  *done = co_await store_->resize(segments, host_.scope());
}

bool Life::resize(uint32_t segments) {
  bool done = false;
  host_.spawn(resizing(segments, &done));
  finish();
  return done;
}

rt::Task<void> Life::stopping() {
  co_await store_->stop();
  co_await reader_->stop();
}

void Life::stop() {
  over_ = true;
  host_.spawn(stopping());
  finish();
}

void Life::die(bool power) {
  world_.world.kill(process_);
  host_.group().cancelAll();
  stop();
  if (power) {
    world_.world.crashDisk();
  }
}

rt::Task<void> Life::appending(Piece piece, AppendOutcome* outcome) {
  const std::vector<std::byte> body = bodyOf(piece.key, piece.version, piece.bytes);
  std::vector<std::byte> meta(sizeof piece.version);
  std::memcpy(meta.data(), &piece.version, sizeof piece.version);
  RecordFields fields;
  fields.place.salt = shared_->files.superblock.salt();
  fields.hash = hash(piece.key);
  fields.expires_s = piece.expires_s;
  fields.labels = piece.labels;
  const size_t with_labels = meta.size() + fields.labels.size_bytes();
  std::vector<std::byte> record(recordBytes(static_cast<uint32_t>(piece.key.size()),
                                            static_cast<uint32_t>(with_labels), piece.bytes));
  const base::Result<uint32_t> length = encodeRecord(record, fields, piece.key, meta, body);
  CHECK(length.ok() && length.value() == record.size());
  Publish publish;
  publish.kind = EntryKind::object;
  publish.expires_s = piece.expires_s;
  publish.replaces = piece.replaces;
  publish.doomed = piece.doomed;
  base::Result<Appended> appended =
      co_await store_->log().append(record, std::move(publish), host_.scope());
  outcome->ended = true;
  outcome->code = appended.ok() ? base::Code::ok : appended.error().code;
  if (appended.ok()) {
    outcome->appended = appended.value();
  }
}

void Life::startAppend(const Piece& piece, AppendOutcome* outcome) {
  host_.spawn(appending(piece, outcome));
}

AppendOutcome Life::append(const Piece& piece) {
  AppendOutcome outcome;
  startAppend(piece, &outcome);
  finish();
  CHECK(outcome.ended);
  return outcome;
}

rt::Task<void> Life::flushing() {
  co_await store_->log().flush();
}

void Life::flush() {
  host_.spawn(flushing());
  finish();
}

rt::Task<void> Life::purging(std::string key, bool soft,
                             std::optional<base::Result<uint64_t>>* outcome) {
  base::Result<uint64_t> result = co_await store_->purge(hash(key), soft, host_.scope());
  outcome->emplace(result);
}

base::Result<uint64_t> Life::purge(const std::string& key, bool soft) {
  std::optional<base::Result<uint64_t>> outcome;
  host_.spawn(purging(key, soft, &outcome));
  finish();
  return *outcome;
}

rt::Task<void> Life::purgingSelected(Selector selector, bool soft,
                                     std::optional<base::Result<uint64_t>>* outcome) {
  base::Result<uint64_t> result =
      co_await store_->purgeSelected(std::move(selector), soft, host_.scope());
  outcome->emplace(result);
}

void Life::startPurgeSelected(const Selector& selector, bool soft,
                              std::optional<base::Result<uint64_t>>* outcome) {
  host_.spawn(purgingSelected(selector, soft, outcome));
}

base::Result<uint64_t> Life::purgeSelected(const Selector& selector, bool soft) {
  std::optional<base::Result<uint64_t>> outcome;
  startPurgeSelected(selector, soft, &outcome);
  finish();
  return *outcome;
}

rt::Task<void> Life::listing(ListQuery query, std::optional<base::Result<ListPage>>* outcome) {
  base::Result<ListPage> result = co_await store_->list(std::move(query), host_.scope());
  outcome->emplace(std::move(result));
}

base::Result<ListPage> Life::list(const ListQuery& query) {
  std::optional<base::Result<ListPage>> outcome;
  host_.spawn(listing(query, &outcome));
  finish();
  return std::move(*outcome);
}

rt::Task<void> Life::purgingStatus(std::string key, bool soft,
                                   std::optional<base::Status>* outcome) {
  base::Result<uint64_t> result = co_await store_->purge(hash(key), soft, host_.scope());
  outcome->emplace(result.ok() ? base::Status(base::Unit{}) : base::Status(result.error()));
}

void Life::startPurge(const std::string& key, bool soft, std::optional<base::Status>* outcome) {
  host_.spawn(purgingStatus(key, soft, outcome));
}

rt::Task<void> Life::purgingAll(std::optional<base::Result<uint64_t>>* outcome) {
  base::Result<uint64_t> result = co_await store_->purgeAll(host_.scope());
  outcome->emplace(result);
}

base::Result<uint64_t> Life::purgeAll() {
  std::optional<base::Result<uint64_t>> outcome;
  host_.spawn(purgingAll(&outcome));
  finish();
  return *outcome;
}

rt::Task<void> Life::purgingDropped() {
  const std::vector<Erased> left = co_await store_->purgeDropped(host_.scope());
  CHECK(left.empty() || host_.killed());
}

rt::Task<void> Life::savingDropped(IfNotByKey otherwise, base::Status* status) {
  *status = co_await store_->saveDropped(otherwise, host_.scope());
}

base::Status Life::saveDropped(IfNotByKey otherwise) {
  base::Status status = base::Unit{};
  host_.spawn(savingDropped(otherwise, &status));
  finish();
  return status;
}

void Life::purgeDropped() {
  host_.spawn(purgingDropped());
  finish();
}

rt::Task<void> Life::purgingAllStatus(std::optional<base::Status>* outcome) {
  base::Result<uint64_t> result = co_await store_->purgeAll(host_.scope());
  outcome->emplace(result.ok() ? base::Status(base::Unit{}) : base::Status(result.error()));
}

void Life::startPurgeAll(std::optional<base::Status>* outcome) {
  host_.spawn(purgingAllStatus(outcome));
}

rt::Task<void> Life::reading(std::string key, std::optional<FoundRecord>* found) {
  co_await rt::Yield();  // started from outside, the clock may be that of the last turn
  found->reset();
  std::optional<Entry> entry = shared_->index->find(hash(key));
  if (entry.has_value() && entry->inBuffer()) {
    co_await store_->log().flush();
    entry = shared_->index->find(hash(key));
  }
  if (!entry.has_value() || !entry->placed()) {
    co_return;
  }
  base::Result<RecordRef> read = co_await reader_->read(
      shared_->recordFile(), shared_->table->locate(*entry), host_.scope(), base::kNever);
  if (!read.ok() || !read.value().record().isFor(hash(key), key)) {
    co_return;
  }
  const RecordView& record = read.value().record();
  FoundRecord result;
  CHECK(record.meta.size() == sizeof result.version);
  std::memcpy(&result.version, record.meta.data(), sizeof result.version);
  result.stale = entry->staleNow();
  const std::vector<std::byte> body =
      bodyOf(key, result.version, static_cast<uint32_t>(record.body.size()));
  CHECK(std::equal(body.begin(), body.end(), record.body.begin(), record.body.end()));
  *found = result;
}

void Life::startRead(const std::string& key, std::optional<FoundRecord>* found) {
  host_.spawn(reading(key, found));
}

std::optional<FoundRecord> Life::read(const std::string& key) {
  std::optional<FoundRecord> found;
  startRead(key, &found);
  finish();
  return found;
}

}  // namespace store
