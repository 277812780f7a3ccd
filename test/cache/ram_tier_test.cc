// Goal: the memory tier holds copies within an exact budget, gives the one of a key, lets readers
// keep what they read, and forgets what is replaced. Method: records of every size, and a long
// random history against a model that knows which copies may be there.
#include "source/cache/ram_tier.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "source/base/random.h"
#include "source/store/core/record_writer.h"

namespace cache {
namespace {

constexpr uint32_t kSalt = 5;

// A record of a key and version, as one that was read and verified.
struct Record {
  Record(const std::string& key, uint64_t version, uint32_t body_bytes,
         store::RecordKind kind = store::RecordKind::object) {
    const std::string text = "HTTP/1.1 200 OK\r\nX: " + std::to_string(version) + "\r\n\r\n";
    StoredHead head;
    head.status = 200;
    head.text = text;
    std::vector<std::byte> meta;
    encodeMeta(head, meta);
    std::vector<std::byte> body(body_bytes, static_cast<std::byte>(version));
    store::RecordFields fields;
    fields.kind = kind;
    fields.place = store::RecordPlace{1, 8, kSalt};
    fields.hash = base::hash128(key, 1);
    bytes.resize(store::recordBytes(static_cast<uint32_t>(key.size()),
                                    static_cast<uint32_t>(meta.size()), body_bytes));
    CHECK(store::encodeRecord(bytes, fields, key, meta, body).ok());
    base::Result<store::RecordView> decoded = store::decodeRecord(bytes, fields.place);
    CHECK(decoded.ok());
    view = decoded.value();
  }
  std::vector<std::byte> bytes;
  store::RecordView view;
};

store::Entry entryOf(const std::string& key, uint64_t version) {
  store::EntryFields fields;
  fields.kind = store::EntryKind::object;
  fields.segment = static_cast<uint32_t>(version);
  return store::Entry::make(base::hash128(key, 1), fields);
}

RamObject* insert(RamTier& tier, const std::string& key, uint64_t version, uint32_t bytes) {
  const Record record(key, version, bytes);
  return tier.insert(record.view, record.bytes, entryOf(key, version));
}

RamObject* find(RamTier& tier, const std::string& key) {
  return tier.find(base::hash128(key, 1), key);
}

bool isVersion(const RamObject& object, uint64_t version) {
  for (const std::byte byte : object.body) {
    if (byte != static_cast<std::byte>(version)) {
      return false;
    }
  }
  return object.head.text.find("X: " + std::to_string(version) + "\r\n") != std::string::npos;
}

TEST(RamTier, GivesACopyOfWhatWasInserted) {
  RamTier tier(1 << 20);
  {
    const Record record("a", 7, 1000);
    RamObject* object = tier.insert(record.view, record.bytes, entryOf("a", 7));
    ASSERT_NE(object, nullptr);
  }  // the record is gone
  RamObject* object = find(tier, "a");
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->key, "a");
  EXPECT_EQ(object->body.size(), 1000U);
  EXPECT_TRUE(isVersion(*object, 7));
  EXPECT_EQ(object->entry, entryOf("a", 7));
  EXPECT_EQ(object->head.status, 200);
  EXPECT_EQ(find(tier, "b"), nullptr);
  EXPECT_EQ(tier.find(base::hash128("a", 1), "b"), nullptr);  // the key decides, not the hash
}

TEST(RamTier, HoldsEmptyBodiesToo) {
  RamTier tier(1 << 20);
  ASSERT_NE(insert(tier, "a", 1, 0), nullptr);
  EXPECT_TRUE(find(tier, "a")->body.empty());
}

TEST(RamTier, ANewVersionTakesTheOldOnesPlace) {
  RamTier tier(1 << 20);
  insert(tier, "a", 1, 1000);
  const uint64_t used = tier.usedBytes();
  insert(tier, "a", 2, 1000);
  EXPECT_EQ(tier.usedBytes(), used);
  EXPECT_EQ(tier.count(), 1U);
  EXPECT_TRUE(isVersion(*find(tier, "a"), 2));
}

TEST(RamTier, TheBudgetIsExact) {
  RamTier probe(1 << 20);
  insert(probe, "key 00", 1, 2000);
  const uint64_t each = probe.usedBytes();
  for (const int64_t slack : {-1, 0}) {
    RamTier tier(8 * each + static_cast<uint64_t>(slack));
    for (int i = 10; i < 18; i++) {
      EXPECT_NE(insert(tier, "key " + std::to_string(i), 1, 2000), nullptr);
      EXPECT_LE(tier.usedBytes(), tier.budgetBytes());
    }
    EXPECT_EQ(tier.count(), slack == 0 ? 8U : 7U);
    EXPECT_EQ(tier.usedBytes(), tier.count() * each);
  }
}

// No object may empty the tier: a quarter of it is the limit.
// At the budget, and one byte beyond it.
TEST(RamTier, WhatIsReadAgainSoonIsWorthCopying) {
  constexpr uint64_t kBudget = 1'000'000;
  for (const uint64_t between : {uint64_t{0}, kBudget, kBudget + 1}) {
    RamTier tier(kBudget);
    const base::Hash128 key = base::hash128("key", 1);
    EXPECT_FALSE(tier.isWorthCopying(key, 5000));
    for (uint64_t i = 0; i < 4 && between > 0; i++) {
      const uint64_t bytes = between / 4 + (i == 0 ? between % 4 : 0);
      EXPECT_FALSE(tier.isWorthCopying(base::hash128("other " + std::to_string(i), 1), bytes));
    }
    EXPECT_EQ(tier.isWorthCopying(key, 5000), between <= kBudget) << between;
  }
}

TEST(RamTier, AnObjectOverItsShareIsRefused) {
  RamTier probe(1 << 20);
  insert(probe, "a", 1, 2000);
  const uint64_t each = probe.usedBytes();
  RamTier fits(4 * each);
  EXPECT_NE(insert(fits, "a", 1, 2000), nullptr);
  RamTier refuses(4 * each - 4);
  EXPECT_EQ(insert(refuses, "a", 1, 2000), nullptr);
  RamTier none(0);
  EXPECT_EQ(insert(none, "a", 1, 0), nullptr);
  EXPECT_EQ(none.usedBytes(), 0U);
}

TEST(RamTier, ReadersKeepWhatTheyReadAndItsBytesCount) {
  RamTier tier(16 << 10);
  RamRef reader(tier, *insert(tier, "a", 1, 3000));
  insert(tier, "a", 2, 3000);
  for (int i = 0; i < 100; i++) {
    insert(tier, "other " + std::to_string(i), 3, 1000);
    EXPECT_LE(tier.usedBytes(), tier.budgetBytes());
  }
  EXPECT_TRUE(isVersion(*reader, 1));
  EXPECT_EQ(reader->key, "a");
  RamRef moved(std::move(reader));
  EXPECT_FALSE(static_cast<bool>(reader));
  EXPECT_TRUE(isVersion(*moved, 1));
  const uint64_t used = tier.usedBytes();
  moved.reset();
  EXPECT_LT(tier.usedBytes(), used);
}

TEST(RamTier, RefusesWhenAllThatCouldGoIsBeingRead) {
  RamTier tier(16 << 10);
  std::deque<RamRef> readers;
  int there = 0;
  for (; there < 100; there++) {
    RamObject* object = insert(tier, "key " + std::to_string(there), 1, 2000);
    if (object == nullptr) {
      break;
    }
    readers.emplace_back(tier, *object);
  }
  ASSERT_LT(there, 100);
  EXPECT_LE(tier.usedBytes(), tier.budgetBytes());
  readers.clear();
  EXPECT_NE(insert(tier, "again", 1, 2000), nullptr);
}

TEST(RamTier, OutdatedCopiesLeave) {
  RamTier tier(1 << 20);
  RamObject* object = insert(tier, "a", 1, 1000);
  tier.dropOutdated(*object);
  EXPECT_EQ(find(tier, "a"), nullptr);
  EXPECT_EQ(tier.usedBytes(), 0U);
  EXPECT_EQ(tier.stats().outdated, 1U);
  RamRef reader(tier, *insert(tier, "a", 2, 1000));
  tier.dropOutdated(*find(tier, "a"));
  EXPECT_EQ(find(tier, "a"), nullptr);
  EXPECT_TRUE(isVersion(*reader, 2));
  EXPECT_GT(tier.usedBytes(), 0U);
  reader.reset();
  EXPECT_EQ(tier.usedBytes(), 0U);
}

TEST(RamTier, AMetaOfAnotherVersionIsNotKept) {
  RamTier tier(1 << 20);
  const std::string key = "a";
  const std::vector<std::byte> meta(10);
  store::RecordFields fields;
  fields.place = store::RecordPlace{1, 8, kSalt};
  fields.hash = base::hash128(key, 1);
  std::vector<std::byte> bytes(store::recordBytes(1, 10, 0));
  ASSERT_TRUE(store::encodeRecord(bytes, fields, key, meta, {}).ok());
  const base::Result<store::RecordView> view = store::decodeRecord(bytes, fields.place);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(tier.insert(view.value(), bytes, entryOf(key, 1)), nullptr);
}

TEST(RamTier, AgreesWithItsModelOverALongHistory) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    base::Random random(seed);
    RamTier tier(64 << 10);
    std::map<std::string, uint64_t> newest;  // what was inserted last; it may have been evicted
    std::deque<std::pair<RamRef, uint64_t>> readers;
    for (uint64_t step = 1; step <= 5000; step++) {
      const std::string key = "key " + std::to_string(random.below(40));
      RamObject* object = find(tier, key);
      if (object != nullptr) {
        ASSERT_TRUE(newest.contains(key));
        ASSERT_TRUE(isVersion(*object, newest[key]));
      }
      switch (random.below(5)) {
        case 0:
        case 1:
          newest.erase(key);
          if (insert(tier, key, step % 251, static_cast<uint32_t>(random.below(6000))) != nullptr) {
            newest[key] = step % 251;
          }
          break;
        case 2:
          if (object != nullptr) {
            tier.hit(*object);
            readers.emplace_back(RamRef(tier, *object), newest[key]);
          }
          break;
        case 3:
          if (object != nullptr) {
            tier.dropOutdated(*object);
            newest.erase(key);
            ASSERT_EQ(find(tier, key), nullptr);
          }
          break;
        default:
          if (!readers.empty()) {
            ASSERT_TRUE(isVersion(*readers.front().first, readers.front().second));
            readers.pop_front();
          }
          break;
      }
      ASSERT_LE(tier.usedBytes(), tier.budgetBytes());
    }
    readers.clear();
  }
}

TEST(RamTier, ABudgetMayChange) {
  RamTier tier(1 << 20);
  for (int i = 0; i < 200; i++) {
    ASSERT_NE(insert(tier, std::to_string(i), 1, 2000), nullptr);
  }
  const uint64_t used_bytes = tier.usedBytes();
  const uint64_t count = tier.count();
  ASSERT_GT(count, 50u);
  tier.setBudget(used_bytes / 2);
  EXPECT_LE(tier.usedBytes(), used_bytes / 2);
  EXPECT_LT(tier.count(), count);
  EXPECT_GT(tier.count(), count / 4);
  // Many more than the table had room for at first: each is found.
  tier.setBudget(64 << 20);
  for (int i = 0; i < 5000; i++) {
    ASSERT_NE(insert(tier, std::to_string(i), 2, 2000), nullptr);
  }
  for (int i = 0; i < 5000; i++) {
    ASSERT_NE(find(tier, std::to_string(i)), nullptr) << i;
  }
  RamRef held(tier, *find(tier, "7"));
  tier.setBudget(0);
  EXPECT_EQ(tier.count(), 0u);
  EXPECT_TRUE(isVersion(*held, 2));
  held.reset();
  EXPECT_EQ(tier.usedBytes(), 0u);
}

}  // namespace
}  // namespace cache
