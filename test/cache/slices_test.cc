// Goal: where a route slices, an object is fetched and kept block by block, is one object for
// validation and purges, and never has bytes of two versions. Method: caches on simulated shards
// with an origin that knows ranges; every byte that a client gets is checked against its version.
#include <gtest/gtest.h>

#include <charconv>
#include <string>
#include <vector>

#include "source/base/random.h"
#include "test/cache/cache_world.h"

namespace cache {
namespace {

constexpr uint64_t kBlock = 64 << 10;
constexpr uint64_t kLength = 10 * kBlock + 1000;

CacheWorld::Cut sliced(uint64_t block_bytes = kBlock, uint16_t shards = 1) {
  CacheWorld::Cut cut;
  cut.shards = shards;
  cut.slice_bytes = block_bytes;
  return cut;
}

uint64_t numberFrom(std::string_view& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  CHECK(error == std::errc());
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

// An origin of one object, which does what RFC 9110 says of conditions and ranges.
struct Source {
  uint64_t length = kLength;
  uint64_t version = 1;
  std::string etag = "\"1\"";
  std::string fields = "Cache-Control: max-age=1000\r\n";
  std::string unsatisfied = "HTTP/1.1 416 No\r\n";
  bool knows_ranges = true;
  uint64_t head_delay_ns = base::kMillisecond_ns;
  std::vector<std::string> asked;  // the ranges, "" for the whole

  Answer answer(const FetchPlan& plan) {
    asked.emplace_back(plan.range);
    Answer out;
    out.version = version;
    out.bytes = length;
    out.head_delay_ns = head_delay_ns;
    const std::string more = (etag.empty() ? "" : "ETag: " + etag + "\r\n") + fields;
    const bool same = plan.validators.etag == etag && !etag.empty();
    if (plan.kind == policy::FetchKind::revalidate && same) {
      out.head = "HTTP/1.1 304 Not Modified\r\n" + more;
      out.bytes = 0;
      return out;
    }
    out.head = "HTTP/1.1 200 OK\r\n" + more;
    if (plan.range.empty() || !knows_ranges || (plan.kind == policy::FetchKind::rest && !same)) {
      return out;
    }
    std::string_view text = plan.range;
    text.remove_prefix(std::string_view("bytes=").size());
    const uint64_t first = numberFrom(text);
    text.remove_prefix(1);
    const uint64_t last = std::min(numberFrom(text), length - 1);
    if (first >= length) {
      out.head = unsatisfied;
      out.bytes = 0;
      return out;
    }
    out.head = "HTTP/1.1 206 Partial Content\r\n" + more + "Content-Range: bytes " +
               std::to_string(first) + "-" + std::to_string(last) + "/" + std::to_string(length) +
               "\r\n";
    out.first = first;
    out.bytes = last - first + 1;
    return out;
  }
};

void serve(CacheWorld& w, Source& source) {
  w.setScript([&source](const FetchPlan& plan, uint64_t) { return source.answer(plan); });
}

Get whole() {
  Get get;
  get.path = "/x";
  return get;
}

Get range(uint64_t first, uint64_t last) {
  Get get = whole();
  get.fields = "Range: bytes=" + std::to_string(first) + "-" + std::to_string(last) + "\r\n";
  get.range_first = first;
  get.range_last = last;
  return get;
}

TEST(Slices, ARangeFetchesItsBlockAlone) {
  CacheWorld w(1, sliced(), sim::Options());
  Source source;
  serve(w, source);
  const Got got = w.get(range(3 * kBlock + 10, 3 * kBlock + 19));
  EXPECT_EQ(got.came, Came::hit);
  EXPECT_EQ(got.bytes, 10U);
  EXPECT_EQ(got.head.find("HTTP/1.1 200"), 0U);
  EXPECT_EQ(got.head.find("Content-Range"), std::string::npos);
  EXPECT_NE(got.head.find("Content-Length: " + std::to_string(kLength) + "\r\n"),
            std::string::npos);
  EXPECT_EQ(source.asked, std::vector<std::string>{"bytes=196608-262143"});
  w.forgetMemory();
  EXPECT_EQ(w.get(range(3 * kBlock, 4 * kBlock - 1)).bytes, kBlock);
  EXPECT_EQ(w.fetches(), 1U);
  EXPECT_EQ(w.stripeOf("/x").stats().sliced, 1U);
  EXPECT_EQ(w.stripeOf("/x").stats().blocks_fetched, 1U);
}

TEST(Slices, HolesAreFilledOnDemand) {
  for (const uint64_t block : {kBlock, 300'000UL}) {  // a record, and one with chunks
    CacheWorld w(2, sliced(block), sim::Options());
    Source source;
    serve(w, source);
    EXPECT_EQ(w.get(range(block, block)).bytes, 1U);
    const uint64_t blocks = (kLength + block - 1) / block;
    for (int i = 0; i < 2; i++) {
      const Got got = w.get(whole());
      EXPECT_EQ(got.came, Came::hit);
      EXPECT_EQ(got.bytes, kLength);
      EXPECT_EQ(w.fetches(), blocks);
      w.forgetMemory();
    }
    EXPECT_EQ(w.stripeOf("/x").stats().blocks_fetched, blocks);
  }
}

TEST(Slices, WhatFitsIntoABlockIsStoredWhole) {
  for (const uint64_t length : {kBlock - 1, kBlock, kBlock + 1}) {
    CacheWorld w(3, sliced(), sim::Options());
    Source source;
    source.length = length;
    source.etag = length > kBlock ? "\"1\"" : "";  // no version needs a name then
    serve(w, source);
    EXPECT_EQ(w.get(whole()).bytes, length);
    EXPECT_EQ(w.get(whole()).came, Came::hit);
    EXPECT_EQ(w.stripeOf("/x").stats().sliced, length > kBlock ? 1U : 0U);
    EXPECT_EQ(w.fetches(), length > kBlock ? 2U : 1U);
  }
}

TEST(Slices, IsPurgedAsOneObject) {
  CacheWorld w(4, sliced(), sim::Options());
  Source source;
  source.fields += "Surrogate-Key: t\r\n";
  serve(w, source);
  for (uint64_t version = 1; version <= 4; version++) {
    source.version = version;  // with the same entity tag: a purge must not rely on it
    const Got got = w.get(whole());
    EXPECT_EQ(got.bytes, kLength);
    EXPECT_EQ(got.version, version);
    if (version == 1) {
      ASSERT_TRUE(w.purge("/x"));
    } else if (version == 2) {
      EXPECT_EQ(w.purgeTag("t"), 1U);
    } else {
      EXPECT_TRUE(w.invalidate("/x"));
    }
  }
}

TEST(Slices, IsValidatedAsOneObject) {
  CacheWorld w(5, sliced(), sim::Options());
  Source source;
  serve(w, source);
  EXPECT_EQ(w.get(range(0, 0)).bytes, 1U);
  w.runFor(2000 * base::kSecond_ns);
  EXPECT_EQ(w.get(range(0, 9)).bytes, 10U);
  EXPECT_EQ(w.fetches(), 2U) << "the block is as good as the object";
  EXPECT_EQ(w.get(range(5, kBlock + 5)).bytes, kBlock + 1);
  EXPECT_EQ(w.fetches(), 3U);
  EXPECT_EQ(w.get(whole()).head.find("Content-Range"), std::string::npos);
}

TEST(Slices, ANewVersionHasBlocksOfItsOwn) {
  CacheWorld w(6, sliced(), sim::Options());
  Source source;
  serve(w, source);
  EXPECT_EQ(w.get(whole()).version, 1U);
  w.runFor(2000 * base::kSecond_ns);
  source.version = 2;
  source.etag = "\"2\"";
  source.length = kLength + kBlock;
  const Got got = w.get(whole());
  EXPECT_EQ(got.version, 2U);
  EXPECT_EQ(got.bytes, kLength + kBlock);
}

// The origin has another version while the stored one is fresh.
TEST(Slices, BlocksOfTwoVersionsAreNeverMixed) {
  for (const bool longer : {false, true}) {
    CacheWorld w(7, sliced(), sim::Options());
    Source source;
    serve(w, source);
    EXPECT_EQ(w.get(range(0, 0)).bytes, 1U);
    source.version = 2;
    source.etag = "\"2\"";
    source.length += longer ? 1 : 0;
    const Got got = w.get(whole());
    EXPECT_EQ(got.came, Came::cut);
    EXPECT_EQ(got.version, 1U);
    EXPECT_EQ(got.bytes, kBlock);
    EXPECT_EQ(w.stripeOf("/x").stats().blocks_changed, 1U) << "asked for ahead, and joined";
  }
}

TEST(Slices, WithoutUsableRangesTheWholeIsStored) {
  struct Case {
    const char* what;
    std::string etag;
    bool knows_ranges;
    uint64_t length;
    uint64_t first;  // that is asked for
    std::vector<std::string> asked;
  };
  const std::string begin = "bytes=0-65535";
  const std::vector<Case> cases = {
      {"no ranges", "\"1\"", false, kLength, 0, {begin}},
      {"no tag", "", true, kLength, 0, {begin, ""}},
      {"a weak tag", "W/\"1\"", true, kLength, kBlock, {"bytes=65536-131071", ""}},
      {"nothing at all", "\"1\"", true, 0, 0, {begin, ""}},
  };
  for (const Case& c : cases) {
    CacheWorld w(8, sliced(), sim::Options());
    Source source;
    source.etag = c.etag;
    source.knows_ranges = c.knows_ranges;
    source.length = c.length;
    serve(w, source);
    Get get = whole();
    get.fields = "Range: bytes=" + std::to_string(c.first) + "-\r\n";
    EXPECT_EQ(w.get(get).came, Came::filled) << c.what;
    const Got again = w.get(whole());
    EXPECT_EQ(again.came, Came::hit) << c.what;
    EXPECT_EQ(again.bytes, c.length) << c.what;
    EXPECT_EQ(source.asked, c.asked) << c.what;
    EXPECT_EQ(w.stripeOf("/x").stats().sliced, 0U) << c.what;
  }
}

TEST(Slices, ARangeBehindTheEndFindsOutTheLength) {
  CacheWorld w(9, sliced(), sim::Options());
  Source source;
  serve(w, source);
  Get get = whole();
  get.fields = "Range: bytes=99999999999-\r\n";
  get.leaves_after = 0;
  EXPECT_EQ(w.get(get).came, Came::left);
  const std::vector<std::string> asked = {"bytes=99999940608-100000006143", "bytes=0-65535"};
  EXPECT_EQ(source.asked, asked);
  EXPECT_EQ(w.stripeOf("/x").stats().sliced, 1U);
}

TEST(Slices, WhatMayNotBeStoredIsLeftToEachClient) {
  CacheWorld w(10, sliced(), sim::Options());
  Source source;
  source.fields = "Cache-Control: no-store\r\n";
  serve(w, source);
  EXPECT_EQ(w.get(range(0, 5)).came, Came::released);
  EXPECT_EQ(w.get(range(0, 5)).came, Came::alone) << "known from now on";
  EXPECT_EQ(w.fetches(), 1U);
}

TEST(Slices, EachBlockIsFetchedOnceForAllThatWaitForIt) {
  CacheWorld w(11, sliced(kBlock, 2), sim::Options());
  Source source;
  source.head_delay_ns = base::kSecond_ns;
  serve(w, source);
  std::vector<Got> got(20);
  for (size_t i = 0; i < got.size(); i++) {
    const uint64_t at = (i % 4) * kBlock;
    w.start(static_cast<uint16_t>(i % 2), range(at, at + 99), &got[i]);
  }
  w.finish();
  for (const Got& one : got) {
    EXPECT_EQ(one.came, Came::hit);
    EXPECT_EQ(one.bytes, 100U);
  }
  EXPECT_EQ(w.fetches(), 4U);
}

TEST(Slices, VariantsHaveBlocksOfTheirOwn) {
  CacheWorld w(12, sliced(), sim::Options());
  Source source;
  source.fields += "Vary: Accept-Language\r\n";
  serve(w, source);
  Get german = whole();
  german.fields = "Accept-Language: de\r\n";
  EXPECT_EQ(w.get(german).version, 1U);
  source.version = 2;
  Get french = whole();
  french.fields = "Accept-Language: fr\r\n";
  EXPECT_EQ(w.get(french).version, 2U);
  const uint64_t before = w.fetches();
  EXPECT_EQ(w.get(german).version, 1U);
  EXPECT_EQ(w.get(french).bytes, kLength);
  EXPECT_EQ(w.fetches(), before);
}

// A purge while the first block is on its way.
TEST(Slices, WhatWasAskedForBeforeAPurgeIsNotStored) {
  CacheWorld w(13, sliced(), sim::Options());
  Source source;
  source.head_delay_ns = base::kSecond_ns;
  serve(w, source);
  Got got;
  w.start(0, whole(), &got);
  ASSERT_TRUE(w.run([&] { return w.fetches() == 1; }));
  ASSERT_TRUE(w.purge("/x"));
  w.finish();
  EXPECT_FALSE(w.entry("/x").has_value());
}

TEST(Slices, ClientsThatGoLeaveWholeBlocks) {
  CacheWorld w(14, sliced(), sim::Options());
  Source source;
  serve(w, source);
  Get get = whole();
  get.leaves_after = 1000;
  EXPECT_EQ(w.get(get).came, Came::left);
  w.runFor(base::kSecond_ns);
  EXPECT_EQ(w.fetches(), 2U) << "the block that was read, and the next";
  EXPECT_EQ(w.get(range(0, 2 * kBlock - 1)).bytes, 2 * kBlock);
  EXPECT_EQ(w.fetches(), 2U);
}

// Whatever happens in whatever order: bytes of one version, and what was purged does not come back.
TEST(Slices, AnyOrderOfThingsKeepsVersionsApart) {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    base::Random random(seed);
    CacheWorld w(seed, sliced(random.below(2) == 0 ? kBlock : 300'000, 2), sim::Options());
    Source source;
    source.fields = "Cache-Control: max-age=5\r\n";
    serve(w, source);
    uint64_t purged_before = 0;
    for (int step = 0; step < 60; step++) {
      const uint64_t what = random.below(10);
      if (what == 0) {
        source.version++;
        source.etag = "\"" + std::to_string(source.version) + "\"";
        source.length = kLength + random.below(3) * kBlock;
      } else if (what == 1) {
        ASSERT_TRUE(w.purge("/x"));
        purged_before = source.version;
      } else if (what == 2) {
        w.runFor(random.below(8) * base::kSecond_ns);
      } else if (what == 3) {
        w.forgetMemory();
      } else {
        const uint64_t first = random.below(kLength);
        const Get get = what == 4 ? whole() : range(first, first + random.below(kLength - first));
        const Got got = w.get(get, static_cast<uint16_t>(random.below(2)));
        ASSERT_TRUE(got.came == Came::hit || got.came == Came::cut) << seed;
        ASSERT_GE(got.version, purged_before) << seed;
        if (got.came == Came::hit && get.range_first.has_value()) {
          ASSERT_EQ(got.bytes, get.range_last - *get.range_first + 1) << seed;
        } else if (got.came == Came::cut) {
          ASSERT_NE(got.version, source.version) << "cut off without need, " << seed;
          ASSERT_TRUE(w.purge("/x"));  // as a session gives such an object up
        }
      }
    }
  }
}

}  // namespace
}  // namespace cache
