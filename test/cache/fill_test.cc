// Goal: a fill fetches once for everybody who asks meanwhile, whatever the body's length and
// whoever comes, is slow, leaves or fails; what is stored is whole and right; what is not stored
// reaches the one it is for. Method: caches on one and two simulated shards with a scripted origin;
// clients check every byte against a function of the version that the head names.
#include "source/cache/fill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "test/cache/cache_world.h"

namespace cache {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * 1024;

ScriptedOrigin::Script always(const Answer& answer) {
  return [answer](const FetchPlan&, uint64_t) { return answer; };
}

CacheWorld::Cut onShards(uint16_t shards) {
  CacheWorld::Cut cut;
  cut.shards = shards;
  return cut;
}

struct Size {
  uint64_t bytes;
  bool says_length;
};

class Sizes : public testing::TestWithParam<uint16_t> {};

TEST_P(Sizes, OfEveryKindAreStoredWhole) {
  for (const uint32_t segment_bytes : {store::kMinSegmentBytes, 4U << 20}) {
    CacheWorld::Cut cut = onShards(GetParam());
    cut.segment_bytes = segment_bytes;
    CacheWorld w(1, cut, sim::Options());
    uint64_t number = 0;
    for (const uint64_t bytes :
         {uint64_t{0}, uint64_t{1}, 64 * kKiB, 256 * kKiB - 1, 256 * kKiB, 256 * kKiB + 1,
          508 * kKiB, 508 * kKiB + 1, 512 * kKiB, 2 * 508 * kKiB, 1300 * kKiB + 17}) {
      for (const bool says_length : {true, false}) {
        SCOPED_TRACE(std::to_string(bytes) + (says_length ? " known" : " unknown") + " in " +
                     std::to_string(segment_bytes));
        const std::string path = "/" + std::to_string(++number);
        Answer answer;
        answer.bytes = bytes;
        answer.says_length = says_length;
        answer.version = number;
        w.setScript(always(answer));
        const uint64_t before = w.fetches();
        const Got first = w.get({.path = path});
        EXPECT_EQ(first.came, Came::filled);
        EXPECT_TRUE(first.stored);
        EXPECT_EQ(first.bytes, bytes);
        const auto other = static_cast<uint16_t>(GetParam() - 1);
        const Got second = w.get({.path = path}, other);
        EXPECT_EQ(second.came, Came::hit);
        EXPECT_EQ(second.bytes, bytes);
        EXPECT_EQ(second.version, number);
        w.forgetMemory();
        const Got third = w.get({.path = path}, other);
        EXPECT_EQ(third.came, Came::hit);
        EXPECT_EQ(third.bytes, bytes);
        EXPECT_EQ(w.fetches(), before + 1);
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(OneAndTwoShards, Sizes, testing::Values(1, 2));

class Collapsing : public testing::TestWithParam<uint16_t> {};

TEST_P(Collapsing, OneFetchServesAllWhoAskMeanwhile) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    for (const uint64_t bytes : {uint64_t{5000}, 900 * kKiB}) {
      CacheWorld w(seed, onShards(GetParam()), sim::Options());
      Answer answer;
      answer.bytes = bytes;
      answer.head_delay_ns = 20 * base::kMillisecond_ns;
      w.setScript(always(answer));
      std::deque<Got> gots(40);
      for (size_t i = 0; i < gots.size(); i++) {
        w.start(static_cast<uint16_t>(i % GetParam()), {.path = "/1"}, &gots[i]);
      }
      w.finish();
      uint64_t collapsed = 0;
      for (const Got& got : gots) {
        EXPECT_TRUE(got.came == Came::filled || got.came == Came::hit);
        EXPECT_EQ(got.bytes, bytes);
        collapsed += got.collapsed ? 1 : 0;
      }
      EXPECT_EQ(w.fetches(), 1U);
      EXPECT_EQ(collapsed, gots.size() - 1);
      EXPECT_EQ(w.stripeOf("/1").stats().fills, 1U);
    }
  }
}

TEST_P(Collapsing, ReadsWhileTheOriginStillSends) {
  CacheWorld w(1, onShards(GetParam()), sim::Options());
  Answer answer;
  answer.bytes = 2 * kMiB;
  answer.piece_delay_ns = 5 * base::kMillisecond_ns;
  w.setScript(always(answer));
  Got first;
  Got late;
  w.start(0, {.path = "/1"}, &first);
  ASSERT_TRUE(w.run([&] { return first.bytes > kMiB; }));
  EXPECT_EQ(w.inFlight(), 1U);
  w.start(static_cast<uint16_t>(GetParam() - 1), {.path = "/1"}, &late);
  ASSERT_TRUE(w.run([&] { return late.bytes > 0; }));
  EXPECT_EQ(w.inFlight(), 1U);
  w.finish();
  EXPECT_EQ(first.bytes, answer.bytes);
  EXPECT_EQ(late.bytes, answer.bytes);
  EXPECT_TRUE(late.collapsed);
  EXPECT_GT(late.extents, 0U);  // what memory no longer had
  EXPECT_EQ(w.fetches(), 1U);
}

TEST_P(Collapsing, ASlowReaderDelaysNobodyAndReadsFromTheDisk) {
  CacheWorld w(2, onShards(GetParam()), sim::Options());
  Answer answer;
  answer.bytes = 6 * kMiB + 5;
  w.setScript(always(answer));
  Got slow;
  Got fast;
  w.start(0, {.path = "/1", .piece_delay_ns = base::kSecond_ns}, &slow);
  w.start(static_cast<uint16_t>(GetParam() - 1), {.path = "/1"}, &fast);
  ASSERT_TRUE(w.run([&] { return fast.came != Came::nothing; }, base::kSecond_ns));
  EXPECT_EQ(fast.bytes, answer.bytes);
  EXPECT_EQ(w.inFlight(), 0U);
  w.finish();
  EXPECT_EQ(slow.came, Came::filled);
  EXPECT_EQ(slow.bytes, answer.bytes);
  EXPECT_GE(slow.extents, 8U);
}
// Twenty clients who wait for one head, and one of them asks for the body `late_ns` after it.
struct CrowdOf20 {
  CrowdOf20(uint16_t shards, uint64_t late_ns) : w(3, onShards(shards), sim::Options()) {
    answer.bytes = 2 * kMiB;
    answer.piece_delay_ns = 10 * base::kMillisecond_ns;  // the beginning stays in memory
    answer.head_delay_ns = 20 * base::kMillisecond_ns;
    w.setScript(always(answer));
    for (size_t i = 0; i < 20; i++) {
      const bool late = i == 7;
      w.start(static_cast<uint16_t>(i % shards),
              {.path = "/1",
               .reads_after_ns = late ? late_ns : 0,
               .piece_delay_ns = late ? base::kMillisecond_ns : 0},
              &gots[i]);
    }
  }
  // How many have more than `bytes` of the body.
  size_t haveMoreThan(uint64_t bytes) const {
    return static_cast<size_t>(std::count_if(
        gots.begin(), gots.end(), [bytes](const Got& got) { return got.bytes > bytes; }));
  }
  bool allButTheLateHave(uint64_t bytes, uint64_t within_ns) {
    return w.run([&] { return haveMoreThan(bytes) == 19; }, within_ns);
  }

  Answer answer;
  CacheWorld w;
  std::deque<Got> gots = std::deque<Got>(20);
};

TEST_P(Collapsing, EverybodyHasItsFirstBytesBeforeAnybodyHasMore) {
  CrowdOf20 crowd(GetParam(), Crowd::kPatience_ns / 2);
  const auto somebodyHasMore = [&] { return crowd.haveMoreThan(Crowd::kFirst_bytes) > 0; };
  ASSERT_TRUE(crowd.w.run([&] { return crowd.gots[7].bytes > 0 || somebodyHasMore(); }));
  EXPECT_FALSE(somebodyHasMore());
  crowd.w.finish();
  EXPECT_EQ(crowd.haveMoreThan(crowd.answer.bytes - 1), 20U);
  EXPECT_EQ(crowd.w.fetches(), 1U);
}

TEST_P(Collapsing, WhoDoesNotReadHoldsTheOthersBackForAShortTimeOnly) {
  CrowdOf20 crowd(GetParam(), 10 * base::kSecond_ns);
  ASSERT_TRUE(crowd.allButTheLateHave(0, base::kSecond_ns));
  EXPECT_TRUE(
      crowd.allButTheLateHave(crowd.answer.bytes - 1, Crowd::kPatience_ns + base::kSecond_ns));
  EXPECT_EQ(crowd.gots[7].bytes, 0U);
  crowd.w.finish();
  EXPECT_EQ(crowd.gots[7].bytes, crowd.answer.bytes);
}

TEST_P(Collapsing, WhoLeavesWithoutReadingHoldsNobodyBack) {
  CacheWorld w(4, onShards(GetParam()), sim::Options());
  Answer answer;
  answer.bytes = 2 * kMiB;
  answer.head_delay_ns = 20 * base::kMillisecond_ns;
  w.setScript(always(answer));
  std::deque<Got> gots(20);
  for (size_t i = 0; i < gots.size(); i++) {
    w.start(static_cast<uint16_t>(i % GetParam()),
            {.path = "/1", .leaves_after = i % 4 == 1 ? 0 : UINT64_MAX}, &gots[i]);
  }
  ASSERT_TRUE(w.run([&] { return gots[0].bytes > 0; }));
  EXPECT_TRUE(w.run([&] { return gots[0].bytes == answer.bytes; }, Crowd::kPatience_ns / 2));
  w.finish();
}

// Clients that keep coming would hold everybody back for ever.
TEST_P(Collapsing, WhoJoinsAfterTheHeadHoldsNobodyBack) {
  CacheWorld w(5, onShards(GetParam()), sim::Options());
  Answer answer;
  answer.bytes = 2 * kMiB;
  answer.piece_delay_ns = base::kMillisecond_ns;
  w.setScript(always(answer));
  Got first;
  Got late;
  w.start(0, {.path = "/1"}, &first);
  ASSERT_TRUE(w.run([&] { return first.bytes > 0; }));
  w.start(static_cast<uint16_t>(GetParam() - 1), {.path = "/1", .reads_after_ns = base::kSecond_ns},
          &late);
  ASSERT_TRUE(w.run([&] { return late.head.size() > 0; }));
  EXPECT_TRUE(w.run([&] { return first.bytes == answer.bytes; }, base::kSecond_ns / 2));
  EXPECT_EQ(late.bytes, 0U);
  w.finish();
  EXPECT_EQ(late.bytes, answer.bytes);
}
INSTANTIATE_TEST_SUITE_P(OneAndTwoShards, Collapsing, testing::Values(1, 2));

TEST(Fill, ATruncatedBodyIsNeverStored) {
  for (const bool says_length : {true, false}) {
    for (const uint64_t fails_after :
         {uint64_t{0}, uint64_t{1}, 100 * kKiB, 508 * kKiB, 900 * kKiB}) {
      CacheWorld w(3);
      Answer answer;
      answer.bytes = kMiB;
      answer.says_length = says_length;
      answer.fails_after = fails_after;
      w.setScript(always(answer));
      std::deque<Got> gots(4);
      for (Got& got : gots) {
        w.start(0, {.path = "/1"}, &got);
      }
      w.finish();
      for (const Got& got : gots) {
        EXPECT_EQ(got.came, Came::cut);
        EXPECT_LE(got.bytes, fails_after);
      }
      EXPECT_EQ(w.fetches(), 1U);
      EXPECT_FALSE(w.entry("/1").has_value());
      answer.fails_after = UINT64_MAX;
      w.setScript(always(answer));
      EXPECT_EQ(w.get({.path = "/1"}).came, Came::filled);
      EXPECT_EQ(w.fetches(), 2U);
    }
  }
}

TEST(Fill, TellsEverybodyWhenTheOriginRefuses) {
  CacheWorld w(4, onShards(2), sim::Options());
  Answer answer;
  answer.refuses = true;
  w.setScript(always(answer));
  std::deque<Got> gots(6);
  for (size_t i = 0; i < gots.size(); i++) {
    w.start(i % 2, {.path = "/1"}, &gots[i]);
  }
  w.finish();
  for (const Got& got : gots) {
    EXPECT_EQ(got.came, Came::failed);
  }
  EXPECT_EQ(w.fetches(), 1U);
}

TEST(Fill, AHeadThatTakesTooLongSendsTheClientAway) {
  CacheWorld w(5);
  Answer answer;
  answer.head_delay_ns = 10 * base::kSecond_ns;
  w.setScript(always(answer));
  const Got got = w.get({.path = "/1", .head_deadline_ns = w.world.now().ns + base::kSecond_ns});
  EXPECT_EQ(got.came, Came::timed_out);
  w.runFor(20 * base::kSecond_ns);
  EXPECT_EQ(w.get({.path = "/1"}).came, Came::hit);  // the fetch went on
}

TEST(Fill, GoesOnWhenItsLeaderLeaves) {
  for (const bool at_head : {true, false}) {
    CacheWorld w(6, onShards(2), sim::Options());
    Answer answer;
    answer.bytes = 2 * kMiB;
    answer.piece_delay_ns = base::kMillisecond_ns;
    w.setScript(always(answer));
    Get leaving{.path = "/1"};
    leaving.leaves_at_head = at_head;
    leaving.leaves_after = 100 * kKiB;
    Got leader;
    Got other;
    w.start(0, leaving, &leader);
    w.start(1, {.path = "/1"}, &other);
    w.finish();
    EXPECT_EQ(leader.came, Came::left);
    EXPECT_EQ(other.came, Came::filled);
    EXPECT_EQ(other.bytes, answer.bytes);
    EXPECT_EQ(w.fetches(), 1U);
  }
}

// RFC 9111 5.2.1.4, 5.2.2.4: what was there before the request needs validation.
TEST(Fill, WhatNeedsValidationIsNotGivenToWhoComesLate) {
  struct Row {
    std::string_view response;
    std::string_view request;
    Came late;
  };
  const Row rows[] = {
      {"max-age=1000", "", Came::filled},
      {"max-age=1000, no-cache", "", Came::released},
      {"max-age=1000", "Cache-Control: no-cache\r\n", Came::released},
      {"max-age=1000", "Cache-Control: min-fresh=2000\r\n", Came::released},
      {"max-age=1000", "Cache-Control: max-age=900\r\n", Came::filled},
  };
  for (const Row& row : rows) {
    CacheWorld w(6, onShards(2), sim::Options());
    Answer answer;
    answer.head =
        "HTTP/1.1 200 OK\r\nETag: \"v\"\r\nCache-Control: " + std::string(row.response) + "\r\n";
    answer.bytes = 2 * kMiB;
    answer.piece_delay_ns = base::kMillisecond_ns;
    w.setScript(always(answer));
    Got first;
    Got late;
    Got early;
    w.start(0, {.path = "/1"}, &first);
    w.start(1, {.path = "/1", .fields = std::string(row.request)}, &early);
    ASSERT_TRUE(w.run([&] { return first.bytes > 0; }));
    w.start(1, {.path = "/1", .fields = std::string(row.request)}, &late);
    w.finish();
    EXPECT_EQ(first.came, Came::filled) << row.response << row.request;
    EXPECT_EQ(early.came, Came::filled) << row.response << row.request;
    EXPECT_EQ(late.came, row.late) << row.response << row.request;
    EXPECT_EQ(w.fetches(), 1U);
  }
}

// It answers the leader's request, with the leader's cookies: nobody else may have it.
TEST(Fill, WhatIsNotStoredGoesWithItsLeader) {
  CacheWorld w(6, onShards(2), sim::Options());
  Answer answer;
  answer.head = "HTTP/1.1 200 OK\r\nCache-Control: private\r\n";
  w.setScript(always(answer));
  Got leader;
  Got other;
  w.start(0, {.path = "/1", .leaves_at_head = true}, &leader);
  ASSERT_TRUE(w.run([&] { return w.fetches() == 1; }));
  w.start(1, {.path = "/1"}, &other);
  w.finish();
  EXPECT_EQ(leader.came, Came::left);
  EXPECT_EQ(other.came, Came::released);
  EXPECT_EQ(w.fetches(), 1U);
  EXPECT_EQ(w.inFlight(), 0U);
}

TEST(Fill, WithoutReadersOnlyWhatIsNearlyDoneGoesOn) {
  CacheWorld::Cut cut;
  cut.max_object_bytes = 128 * kMiB;
  CacheWorld w(7, cut, sim::Options());
  Answer answer;
  answer.bytes = Fill::kFinishBytes + 2 * kMiB;
  w.setScript(always(answer));
  EXPECT_EQ(w.get({.path = "/1", .leaves_after = 1}).came, Came::left);
  w.runFor(base::kSecond_ns);
  EXPECT_EQ(w.inFlight(), 0U);
  EXPECT_LT(w.origin().bytes, answer.bytes);
  answer.bytes = kMiB;
  w.setScript(always(answer));
  EXPECT_EQ(w.get({.path = "/2", .leaves_after = 1}).came, Came::left);
  w.runFor(base::kSecond_ns);
  EXPECT_EQ(w.get({.path = "/2"}).came, Came::hit);
}

TEST(Fill, WhatIsNotStoredIsForItsLeaderAlone) {
  for (const bool says_length : {true, false}) {
    CacheWorld w(8, onShards(2), sim::Options());
    Answer answer;
    answer.head = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n";
    answer.bytes = 700 * kKiB;
    answer.says_length = says_length;
    answer.head_delay_ns = 20 * base::kMillisecond_ns;
    w.setScript(always(answer));
    std::deque<Got> gots(8);
    for (size_t i = 0; i < gots.size(); i++) {
      w.start(i % 2, {.path = "/1"}, &gots[i]);
    }
    w.finish();
    uint64_t filled = 0;
    for (const Got& got : gots) {
      if (got.came == Came::filled) {
        filled++;
        EXPECT_EQ(got.bytes, answer.bytes);
        EXPECT_FALSE(got.stored);
      } else {
        EXPECT_TRUE(got.came == Came::released || got.came == Came::alone);
      }
    }
    EXPECT_EQ(filled, 1U);
    EXPECT_EQ(w.fetches(), 1U);
    EXPECT_EQ(w.get({.path = "/1"}).came, Came::alone);  // a note says so
    w.runFor((Fill::kHitForMiss_s + 2) * base::kSecond_ns);
    EXPECT_EQ(w.get({.path = "/1"}).came, Came::filled);
  }
}

TEST(Fill, WhatIsNotStoredRunsAtItsLeadersPace) {
  CacheWorld w(9);
  Answer answer;
  answer.head = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n";
  answer.bytes = 4 * kMiB;
  w.setScript(always(answer));
  Got got;
  w.start(0, {.path = "/1", .piece_delay_ns = base::kSecond_ns}, &got);
  ASSERT_TRUE(w.run([&] { return got.bytes > 0; }));
  w.runFor(500 * base::kMillisecond_ns);
  EXPECT_LE(w.origin().bytes, 4 * Fill::kPassPart);
  w.finish();
  EXPECT_EQ(got.came, Came::filled);
  EXPECT_EQ(got.bytes, answer.bytes);
}

// A body turns out to be too long for the store when part of it has been received. Who reads it
// gets it all; who comes later too.
TEST(Fill, ABodyThatGrowsTooLongStillReachesEverybody) {
  CacheWorld::Cut cut;
  cut.max_object_bytes = 2 * kMiB;
  CacheWorld w(10, cut, sim::Options());
  Answer answer;
  answer.bytes = 5 * kMiB + 3;
  answer.says_length = false;
  answer.piece_delay_ns = base::kMillisecond_ns;
  w.setScript(always(answer));
  Got first;
  Got second;
  Got late;
  w.start(0, {.path = "/1"}, &first);
  w.start(0, {.path = "/1", .piece_delay_ns = 20 * base::kMillisecond_ns}, &second);
  ASSERT_TRUE(w.run([&] { return first.bytes > 4 * kMiB; }));
  w.start(0, {.path = "/1"}, &late);
  w.finish();
  for (const Got* got : {&first, &second, &late}) {
    EXPECT_EQ(got->came, Came::filled);
    EXPECT_EQ(got->bytes, answer.bytes);
  }
  EXPECT_FALSE(w.entry("/1").has_value() && w.entry("/1")->placed());
}

TEST(Fill, ARangeOfARunningFillIsGivenWithoutTheRest) {
  CacheWorld w(11, onShards(2), sim::Options());
  Answer answer;
  answer.bytes = 2 * kMiB;
  w.setScript(always(answer));
  Got all;
  Got part;
  w.start(0, {.path = "/1"}, &all);
  Get range{.path = "/1"};
  range.range_first = kMiB - 5;
  range.range_last = kMiB + 4;
  w.start(1, range, &part);
  w.finish();
  EXPECT_EQ(all.bytes, answer.bytes);
  EXPECT_EQ(part.bytes, 10U);
  EXPECT_EQ(w.fetches(), 1U);
}

}  // namespace
}  // namespace cache
