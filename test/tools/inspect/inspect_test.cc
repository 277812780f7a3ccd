// Goal: what is intact is listed and given back byte for byte, and each kind of damage is named
// where it is. Method: a directory made by the store's own CacheFiles, filled with segments by the
// store's encoders; then bytes are flipped.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "source/cache/object.h"
#include "source/cache/slices.h"
#include "source/store/core/extents.h"
#include "source/store/core/index.h"
#include "source/store/core/journal.h"
#include "source/store/core/record_writer.h"
#include "source/store/core/snapshot.h"
#include "source/store/io/cache_files.h"
#include "source/tools/inspect/objects.h"
#include "source/tools/inspect/print.h"

namespace inspect {
namespace {

constexpr base::UnixSeconds kNow{2000};
constexpr uint64_t kSequence = 7;

class Inspect : public testing::Test {
 protected:
  Inspect() {
    std::string pattern = testing::TempDir() + "/inspect_XXXXXX";
    root_ = mkdtemp(pattern.data());
    layout_.directory = root_ + "/main";
    layout_.max_size_bytes = store::kMinCacheBytes;
    layout_.stripes = 1;
    layout_.segment_bytes = store::kMinSegmentBytes;
    layout_.direct_io = false;
    store::CacheFiles::Opened opened = store::CacheFiles::open(layout_);
    superblock_ = opened.files->stripes()[0].superblock;
    segment_.resize(store::kMinSegmentBytes);
    used_ = store::kSegmentHeaderBytes;
    store::encodeSegmentHeader(segment_, identity(), kSequence, 1000);
  }
  ~Inspect() override { std::filesystem::remove_all(root_); }

  store::SegmentIdentity identity() const {
    return {1, 0, store::kMinSegmentBytes, superblock_.salt()};
  }
  base::Hash128 hashOf(const std::string& key) const {
    return base::hash128(key, superblock_.hash_seed);
  }

  // Appends a record to the segment in memory; where it lies.
  store::Location add(store::RecordFields fields, const std::string& key,
                      std::span<const std::byte> meta, std::span<const std::byte> body) {
    fields.place = {kSequence, used_ / store::kUnitBytes, superblock_.salt()};
    fields.written_s = 1500;
    const auto length =
        store::encodeRecord(std::span(segment_).subspan(used_), fields, key, meta, body);
    EXPECT_TRUE(length.ok());
    const store::Location at{kSequence, 1, used_ / store::kUnitBytes,
                             length.value() / store::kUnitBytes};
    const auto view =
        store::decodeRecord(std::span<const std::byte>(segment_).subspan(used_), fields.place);
    EXPECT_TRUE(view.ok());
    toc_.add(view.value());
    used_ += length.value();
    return at;
  }
  static std::vector<std::byte> metaOf(const std::string& text, uint32_t fresh_until_s,
                                       std::string_view tags = {}) {
    cache::StoredHead head;
    head.status = 200;
    head.times = {1400, fresh_until_s};
    head.text = text;
    head.tags = tags;
    std::vector<std::byte> meta;
    cache::encodeMeta(head, meta);
    return meta;
  }
  store::Location addObject(const std::string& key, const std::string& body,
                            uint32_t fresh_until_s = 3000) {
    store::RecordFields fields;
    fields.hash = hashOf(key);
    return add(fields, key, metaOf(kHead, fresh_until_s), std::as_bytes(std::span(body)));
  }
  // With the labels that the cache gives it, as docs/disk-format.md says what they are.
  void addTagged(const std::string& key, const std::vector<std::string>& directories,
                 const std::vector<std::string>& tags) {
    std::vector<store::Label> labels;
    for (const std::string& directory : directories) {
      labels.push_back(base::hash64(directory, superblock_.hash_seed + 0x6469));
    }
    std::string joined;
    for (const std::string& tag : tags) {
      labels.push_back(tagged(tag));
      joined += (joined.empty() ? "" : "\n") + tag;
    }
    store::RecordFields fields;
    fields.hash = hashOf(key);
    fields.labels = labels;
    add(fields, key, metaOf(kHead, 3000, joined), {});
  }
  store::Label tagged(const std::string& tag) const {
    return base::hash64(tag, superblock_.hash_seed + 0x7461);
  }
  void addLarge(const std::string& key, const std::string& body, size_t step) {
    store::RecordFields fields;
    fields.hash = hashOf(key);
    fields.object_id = 99;
    std::vector<store::Extent> extents;
    for (size_t from = 0; from < body.size(); from += step) {
      fields.kind = store::RecordKind::chunk;
      fields.chunk_number = static_cast<uint32_t>(extents.size());
      const std::string piece = body.substr(from, step);
      const store::Location at = add(fields, "", {}, std::as_bytes(std::span(piece)));
      extents.push_back({at.sequence, from, at.segment, static_cast<uint16_t>(at.offset_units),
                         static_cast<uint16_t>(at.length_units)});
    }
    fields.kind = store::RecordKind::head;
    fields.chunk_number = 0;
    fields.object_length = body.size();
    std::vector<std::byte> table;
    EXPECT_TRUE(store::encodeExtents(extents, body.size(), table).ok());
    add(fields, key, metaOf(kHead, 3000), table);
  }

  void writeAt(const std::string& name, uint64_t offset, std::span<const std::byte> bytes) const {
    const int fd = open((layout_.directory + "/" + name).c_str(), O_WRONLY | O_CREAT, 0644);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(bytes.size()));
    close(fd);
  }
  void flip(const std::string& name, uint64_t offset) const {
    std::fstream file(layout_.directory + "/" + name,
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get() ^ 0x20);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  }
  uint64_t segmentAt() const { return store::segmentOffset(1, store::kMinSegmentBytes); }
  uint64_t recordAt(const store::Location& at) const {
    return segmentAt() + uint64_t{at.offset_units} * store::kUnitBytes;
  }
  void writeSegment(bool sealed = true) {
    if (sealed) {
      const std::vector<std::byte> footer = store::encodeFooter(
          toc_.entries, toc_.labels, identity(), kSequence, used_ / store::kUnitBytes);
      std::copy(footer.begin(), footer.end(), segment_.end() - footer.size());
    }
    writeAt(kData, segmentAt(), segment_);
  }
  void writePurge(base::Hash128 hash, bool soft, store::PurgeKind kind = store::PurgeKind::key) {
    std::vector<std::byte> file(store::kJournalHeaderBytes + store::kJournalRecordBytes);
    store::encodeJournalHeader(file, {1, 1, 1000, 0}, superblock_.salt());
    store::PurgeRecord purge;
    purge.kind = kind;
    purge.soft = soft;
    purge.number = 1;
    purge.hash = hash;
    purge.before = {kSequence + 1, 0};
    store::encodePurge(std::span(file).subspan(store::kJournalHeaderBytes), purge,
                       superblock_.salt());
    writeAt("stripe-000.purge-a", 0, file);
  }

  Inventory take() const {
    const Opened opened = openDirectory(layout_.directory);
    EXPECT_EQ(opened.error, "");
    return takeInventory(*opened.directory);
  }
  // The one fault that there must be.
  Fault onlyFault() const {
    const Inventory inventory = take();
    EXPECT_EQ(inventory.findings.faults.size(), 1u);
    return inventory.findings.faults.empty() ? Fault{} : inventory.findings.faults[0];
  }

  static constexpr const char* kData = "stripe-000.data";
  static constexpr const char* kHead = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
  std::string root_;
  store::CacheLayout layout_;
  store::Superblock superblock_;
  std::vector<std::byte> segment_;
  store::Contents toc_;
  uint32_t used_ = 0;
};

TEST_F(Inspect, ListsWhatIsStoredAndFindsNoFault) {
  addObject("http://a/old", "first version");
  addObject("http://a/stale", "x", 1999);
  const store::Location newest = addObject("http://a/old", "second");
  writeSegment();
  const Inventory inventory = take();
  EXPECT_TRUE(inventory.findings.faults.empty());
  EXPECT_EQ(inventory.findings.totals.records, 3u);
  EXPECT_EQ(inventory.findings.totals.sealed, 1u);
  ASSERT_EQ(inventory.objects.size(), 2u);
  const Object& object = inventory.objects[0];
  EXPECT_EQ(object.key, "http://a/old");
  EXPECT_EQ(object.length, 6u);
  EXPECT_EQ(object.status, 200);
  EXPECT_EQ(object.stored_s, 1500u);
  EXPECT_EQ(object.expires_s, 3000u);
  EXPECT_EQ(object.at, newest);
  EXPECT_EQ(object.freshness(kNow), "fresh");
  EXPECT_EQ(inventory.objects[1].freshness(kNow), "stale");
}

TEST_F(Inspect, ExtractsSmallAndLargeObjectsWhole) {
  const std::string small = "some bytes";
  std::string large(300'000, 'a');
  for (size_t i = 0; i < large.size(); i++) {
    large[i] = static_cast<char>(i * 7);
  }
  addObject("http://a/small", small);
  addLarge("http://a/large", large, 131'072);
  writeSegment();
  const Opened opened = openDirectory(layout_.directory);
  const Inventory inventory = takeInventory(*opened.directory);
  ASSERT_EQ(inventory.objects.size(), 2u);
  EXPECT_TRUE(inventory.findings.faults.empty());
  for (const Object& object : inventory.objects) {
    const Extracted got = extract(opened.directory->stripes[0], object, inventory.objects);
    EXPECT_EQ(got.error, "");
    EXPECT_EQ(got.head, kHead);
    const std::string body(reinterpret_cast<const char*>(got.body.data()), got.body.size());
    EXPECT_TRUE(body == (object.key == "http://a/small" ? small : large)) << object.key;
  }
  flip(kData, segmentAt() + 200'000);
  const Extracted broken =
      extract(opened.directory->stripes[0], inventory.objects[0], inventory.objects);
  EXPECT_NE(broken.error.find("chunk 1 of 3"), std::string::npos) << broken.error;
}

TEST_F(Inspect, ExtractsASlicedObjectWhenAllItsBlocksAreThere) {
  const std::string body(150'000, 'b');
  const cache::SliceTable table{5, policy::SliceLayout{body.size(), 65'536}};
  const std::string key = "http://a/sliced";
  cache::StoredHead head;
  head.status = 200;
  head.text = kHead;
  head.sliced = true;
  std::vector<std::byte> meta;
  cache::encodeMeta(head, meta);
  store::RecordFields fields;
  fields.kind = store::RecordKind::object;
  fields.hash = hashOf(key);
  add(fields, key, meta, cache::encodeSliceTable(table));
  addObject(cache::blockKey(key, 5, 0), body.substr(0, 65'536));
  addObject(cache::blockKey(key, 5, 2), body.substr(131'072));
  addObject(cache::blockKey(key, 4, 1), body.substr(0, 65'536));  // of another table
  writeSegment();
  Opened opened = openDirectory(layout_.directory);
  Inventory inventory = takeInventory(*opened.directory);
  ASSERT_EQ(inventory.objects.size(), 4u);
  ASSERT_EQ(inventory.objects[0].key, key);
  const auto take = [&] {
    return extract(opened.directory->stripes[0], inventory.objects[0], inventory.objects);
  };
  EXPECT_EQ(take().error, "block 1 of 3 is not in the cache");
  addObject(cache::blockKey(key, 5, 1), body.substr(65'536, 65'536));
  writeSegment();
  opened = openDirectory(layout_.directory);
  inventory = takeInventory(*opened.directory);
  const Extracted got = take();
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got.head, kHead);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(got.body.data()), got.body.size()), body);
}

TEST_F(Inspect, APurgeDropsAndASoftOneMakesStale) {
  addObject("http://a/1", "x");
  addObject("http://a/2", "x");
  writeSegment();
  writePurge(hashOf("http://a/1"), false);
  Inventory inventory = take();
  ASSERT_EQ(inventory.objects.size(), 1u);
  EXPECT_EQ(inventory.objects[0].key, "http://a/2");
  EXPECT_EQ(inventory.findings.totals.purges, 1u);
  writePurge(hashOf("http://a/1"), true);
  inventory = take();
  ASSERT_EQ(inventory.objects.size(), 2u);
  EXPECT_EQ(inventory.objects[0].freshness(kNow), "purged");
}

TEST_F(Inspect, TellsWhatEachLabelStandsFor) {
  addTagged("http://a/b/c?d=/e", {"http://a/", "http://a/b/"}, {"news", "x, y"});
  addTagged("http://a/b/v\n1\naccept=a/b", {"http://a/", "http://a/b/"}, {});
  store::RecordFields fields;
  const store::Label strange[] = {0x0123456789abcdef};
  fields.labels = strange;
  fields.hash = hashOf("http://z/");
  add(fields, "http://z/", metaOf(kHead, 3000), {});
  writeSegment();
  const Opened opened = openDirectory(layout_.directory);
  const Inventory inventory = takeInventory(*opened.directory);
  ASSERT_EQ(inventory.objects.size(), 3u);
  EXPECT_TRUE(inventory.findings.faults.empty());
  const std::vector<std::string> names = {"directory:http://a/", "directory:http://a/b/",
                                          "tag:news", "tag:x, y"};
  EXPECT_EQ(inventory.objects[0].label_names, names);
  EXPECT_EQ(inventory.objects[1].label_names,
            (std::vector<std::string>{"directory:http://a/", "directory:http://a/b/"}));
  EXPECT_EQ(inventory.objects[2].label_names, std::vector<std::string>{"0123456789abcdef"});
  EXPECT_NE(listText(*opened.directory, inventory, kNow).find("  tag:x, y\n"), std::string::npos);
  EXPECT_NE(listJson(*opened.directory, inventory, kNow)
                .find("\"labels\": [\"directory:http://a/\", \"directory:http://a/b/\", "
                      "\"tag:news\", \"tag:x, y\"]"),
            std::string::npos);
}

TEST_F(Inspect, APurgeOfATagDropsWhatHasItAndWhatThatReplaced) {
  addTagged("http://a/1", {"http://a/"}, {"old"});
  addTagged("http://a/2", {"http://a/"}, {"old"});
  addTagged("http://a/1", {"http://a/"}, {"new"});
  writeSegment();
  writePurge(base::Hash128{0, tagged("new")}, false, store::PurgeKind::label);
  const Inventory inventory = take();
  ASSERT_EQ(inventory.objects.size(), 1u);
  EXPECT_EQ(inventory.objects[0].key, "http://a/2");
}

TEST_F(Inspect, NamesARecordWhoseLabelsAreNotTheListedOnes) {
  addTagged("http://a/1", {"http://a/"}, {"a"});
  toc_.labels[1]++;
  writeSegment();
  EXPECT_EQ(onlyFault().kind, FaultKind::record_not_as_listed);
}

TEST_F(Inspect, NamesADamagedRecordAndItsPlace) {
  addObject("http://a/1", "x");
  const store::Location at = addObject("http://a/2", std::string(5000, 'y'));
  writeSegment();
  flip(kData, recordAt(at) + 3000);
  const Fault fault = onlyFault();
  EXPECT_EQ(name(fault.kind), "record");
  EXPECT_EQ(fault.segment, 1u);
  EXPECT_EQ(fault.offset, recordAt(at));
  EXPECT_EQ(take().objects.size(), 1u);
}

TEST_F(Inspect, NamesARecordThatIsNotTheListedOne) {
  addObject("http://a/1", "x");
  addObject("http://a/2", "x");
  toc_.entries[1].expires_s++;
  writeSegment();
  EXPECT_EQ(onlyFault().kind, FaultKind::record_not_as_listed);
}

TEST_F(Inspect, NamesDamagedHeadersFootersAndSuperblocks) {
  addObject("http://a/1", "x");
  writeSegment();
  const uint64_t end = segmentAt() + store::kMinSegmentBytes;
  const struct {
    uint64_t at;
    FaultKind kind;
    size_t objects;
  } cases[] = {
      {segmentAt() + 17, FaultKind::segment_header, 0},
      {end - store::kUnitBytes + 9, FaultKind::segment_footer, 1},
      {end - store::kPageBytes + 3, FaultKind::segment_footer, 1},
      {40, FaultKind::superblock_copy, 1},
      {store::kSuperblockCopyOffset + 40, FaultKind::superblock_copy, 1},
  };
  for (const auto& c : cases) {
    flip(kData, c.at);
    const Inventory inventory = take();
    ASSERT_EQ(inventory.findings.faults.size(), 1u) << c.at;
    EXPECT_EQ(inventory.findings.faults[0].kind, c.kind) << c.at;
    EXPECT_EQ(inventory.objects.size(), c.objects) << c.at;
    flip(kData, c.at);
    EXPECT_TRUE(take().findings.faults.empty());
  }
}

TEST_F(Inspect, ASegmentWithoutAFooterIsANoteAndNoFault) {
  addObject("http://a/1", "x");
  writeSegment(false);
  const Inventory inventory = take();
  EXPECT_TRUE(inventory.findings.faults.empty());
  ASSERT_EQ(inventory.findings.notes.size(), 1u);
  EXPECT_EQ(inventory.objects.size(), 1u);
}

TEST_F(Inspect, NamesDamagedJournalsAndSnapshots) {
  writePurge(hashOf("http://a/1"), false);
  flip("stripe-000.purge-a", 20);
  EXPECT_EQ(onlyFault().kind, FaultKind::journal);
  flip("stripe-000.purge-a", 20);

  store::SegmentTable table(superblock_.segment_count);
  auto index = store::IndexShard::create({100, 0}, table);
  store::SnapshotHeader header;
  header.number = 1;
  header.bucket_count = index.value()->bucketCount();
  header.segment_count = superblock_.segment_count;
  store::SnapshotEncoder encoder(header, std::vector<uint64_t>(superblock_.segment_count),
                                 *index.value(), superblock_.salt());
  std::vector<std::byte> block(store::kSnapshotBlockBytes);
  for (uint64_t at = 0; encoder.next(block); at += block.size()) {
    writeAt("stripe-000.index-a", at, block);
  }
  EXPECT_EQ(take().findings.totals.snapshots, 1u);
  flip("stripe-000.index-a", store::kSnapshotBlockBytes + 100);
  EXPECT_EQ(onlyFault().kind, FaultKind::snapshot);
}

TEST_F(Inspect, RefusesWhatIsNotItsOwn) {
  EXPECT_NE(openDirectory(root_ + "/none").error, "");
  EXPECT_NE(openDirectory(root_).error.find("stripe-000.data"), std::string::npos);
  const std::vector<std::byte> other(100'000, std::byte{'x'});
  writeAt(kData, 0, other);
  EXPECT_NE(openDirectory(layout_.directory).error.find("is not a Ringfence cache"),
            std::string::npos);
}

TEST_F(Inspect, SaysThatAServerRuns) {
  EXPECT_FALSE(openDirectory(layout_.directory).directory->server_runs);
  const store::CacheFiles::Opened server = store::CacheFiles::open(layout_);
  ASSERT_EQ(server.error, "");
  const Opened opened = openDirectory(layout_.directory);
  EXPECT_TRUE(opened.directory->server_runs);
  const std::string text = verifyText(*opened.directory, Findings());
  EXPECT_NE(text.find("a server runs"), std::string::npos);
}

TEST_F(Inspect, PrintsAnyKey) {
  addObject("http://a/\"q\"\n\xff", "x");
  writeSegment();
  const Opened opened = openDirectory(layout_.directory);
  const Inventory inventory = takeInventory(*opened.directory);
  EXPECT_NE(listText(*opened.directory, inventory, kNow).find("http://a/\"q\"\\x0a\\xff\n"),
            std::string::npos);
  EXPECT_NE(listJson(*opened.directory, inventory, kNow)
                .find("\"key\": \"http://a/\\\"q\\\"\\u000a\\u00ff\""),
            std::string::npos);
  EXPECT_NE(verifyJson(*opened.directory, inventory.findings).find("\"faults\": []"),
            std::string::npos);
}

}  // namespace
}  // namespace inspect
