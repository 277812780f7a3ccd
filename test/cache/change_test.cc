// Goal: what is stored changes as it should: a 304 renews it, variants are kept apart, a purge wins
// over every fill, a stop joins everything, and fills share what memory there is. Method: caches on
// one and two simulated shards with a scripted origin; clients check every byte against a function
// of the version that the head names.
#include <gtest/gtest.h>

#include <deque>
#include <string>

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

// Revalidation.

class Validating : public testing::TestWithParam<uint64_t> {};

TEST_P(Validating, A304WritesTheStoredResponseAgain) {
  CacheWorld w(12, onShards(2), sim::Options());
  Answer answer;
  answer.head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nCache-Control: max-age=5\r\nX-Old: 1\r\n";
  answer.bytes = GetParam();
  w.setScript(always(answer));
  EXPECT_EQ(w.get({.path = "/1"}).came, Came::filled);
  w.runFor(10 * base::kSecond_ns);
  bool conditional = false;
  w.setScript([&](const FetchPlan& plan, uint64_t) {
    conditional = plan.kind == policy::FetchKind::revalidate;
    Answer current;
    current.head =
        "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nCache-Control: max-age=1000\r\nX-New: 1\r\n";
    current.bytes = 0;
    return current;
  });
  std::deque<Got> gots(5);
  for (size_t i = 0; i < gots.size(); i++) {
    w.start(i % 2, {.path = "/1"}, &gots[i]);
  }
  w.finish();
  EXPECT_TRUE(conditional);
  for (const Got& got : gots) {
    EXPECT_EQ(got.came, Came::hit);
    EXPECT_EQ(got.bytes, GetParam());
    EXPECT_NE(got.head.find("X-New: 1"), std::string::npos);
    EXPECT_NE(got.head.find("HTTP/1.1 200"), std::string::npos);
  }
  EXPECT_EQ(w.fetches(), 2U);
  w.forgetMemory();
  w.runFor(100 * base::kSecond_ns);
  EXPECT_EQ(w.get({.path = "/1"}).came, Came::hit);
  EXPECT_EQ(w.fetches(), 2U);
}
INSTANTIATE_TEST_SUITE_P(SmallAndLarge, Validating, testing::Values(1000, 700 * 1024));

TEST(Renewal, A304OfAnotherResponseIsFollowedByAFetch) {
  CacheWorld w(13);
  Answer answer;
  answer.head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nCache-Control: max-age=5\r\n";
  w.setScript(always(answer));
  EXPECT_EQ(w.get({.path = "/1"}).came, Came::filled);
  w.runFor(10 * base::kSecond_ns);
  w.setScript([&](const FetchPlan& plan, uint64_t) {
    Answer next;
    next.version = 2;
    if (plan.kind == policy::FetchKind::revalidate) {
      next.head = "HTTP/1.1 304 Not Modified\r\nETag: \"b\"\r\n";
      next.bytes = 0;
    }
    return next;
  });
  const Got got = w.get({.path = "/1"});
  EXPECT_EQ(got.came, Came::filled);
  EXPECT_EQ(got.version, 2U);
  EXPECT_EQ(w.fetches(), 3U);
}

TEST(Renewal, ANewResponseReplacesTheStaleOne) {
  CacheWorld w(14);
  Answer answer;
  answer.head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nCache-Control: max-age=5\r\n";
  w.setScript(always(answer));
  EXPECT_EQ(w.get({.path = "/1"}).came, Came::filled);
  w.runFor(10 * base::kSecond_ns);
  answer.version = 2;
  answer.bytes = 600 * kKiB;
  w.setScript(always(answer));
  EXPECT_EQ(w.get({.path = "/1"}).version, 2U);
  const Got got = w.get({.path = "/1"});
  EXPECT_EQ(got.came, Came::hit);
  EXPECT_EQ(got.version, 2U);
}

// Variants.

ScriptedOrigin::Script byLanguage() {
  return [](const FetchPlan& plan, uint64_t) {
    Answer answer;
    answer.head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=1000\r\nVary: Accept-Language\r\n";
    answer.version = plan.request->fields.value(http::Name::accept_language) == "de" ? 2 : 1;
    answer.head_delay_ns = 10 * base::kMillisecond_ns;
    return answer;
  };
}

TEST(Variants, AreStoredAndFoundEachByItsOwnFields) {
  CacheWorld w(15, onShards(2), sim::Options());
  w.setScript(byLanguage());
  const Get en{.path = "/1", .fields = "Accept-Language: en\r\n"};
  const Get de{.path = "/1", .fields = "Accept-Language: de\r\n"};
  EXPECT_EQ(w.get(en).came, Came::filled);
  EXPECT_EQ(w.get(de).came, Came::filled);
  for (uint16_t shard = 0; shard < 2; shard++) {
    for (int again = 0; again < 2; again++) {
      EXPECT_EQ(w.get(en, shard).came, Came::hit);
      EXPECT_EQ(w.get(en, shard).version, 1U);
      EXPECT_EQ(w.get(de, shard).came, Came::hit);
      EXPECT_EQ(w.get(de, shard).version, 2U);
    }
    w.forgetMemory();
  }
  EXPECT_EQ(w.fetches(), 2U);
}

TEST(Variants, AResponseForOthersIsNotGiven) {
  CacheWorld w(16);
  w.setScript(byLanguage());
  Got en;
  Got de;
  Got also_en;
  w.start(0, {.path = "/1", .fields = "Accept-Language: en\r\n"}, &en);
  w.start(0, {.path = "/1", .fields = "Accept-Language: de\r\n"}, &de);
  w.start(0, {.path = "/1", .fields = "Accept-Language: en\r\n"}, &also_en);
  w.finish();
  EXPECT_EQ(en.came, Came::filled);
  EXPECT_EQ(en.version, 1U);
  EXPECT_EQ(de.came, Came::released);
  EXPECT_EQ(also_en.came, Came::filled);
  EXPECT_EQ(also_en.version, 1U);
}

TEST(Variants, GoWithThePurgeOfTheirKey) {
  for (const bool soft : {false, true}) {
    CacheWorld w(17, onShards(2), sim::Options());
    w.setScript(byLanguage());
    const Get en{.path = "/1", .fields = "Accept-Language: en\r\n"};
    const Get de{.path = "/1", .fields = "Accept-Language: de\r\n"};
    w.get(en);
    w.get(de);
    ASSERT_TRUE(w.purge("/1", soft));
    EXPECT_NE(w.get(en, 1).came, Came::hit) << soft;
    EXPECT_NE(w.get(de, 0).came, Came::hit) << soft;
    EXPECT_EQ(w.fetches(), 4U);
    EXPECT_EQ(w.get(en, 0).came, Came::hit);
    EXPECT_EQ(w.get(de, 1).came, Came::hit);
  }
}

// Purges.

TEST(Purging, DuringAFillKeepsTheFillFromBeingStored) {
  for (const uint64_t bytes : {uint64_t{1000}, kMiB}) {
    for (uint64_t wait = 0; wait < 12; wait++) {
      CacheWorld w(wait + 1, onShards(2), sim::Options());
      Answer answer;
      answer.bytes = bytes;
      answer.head_delay_ns = 2 * base::kMillisecond_ns;
      answer.piece_delay_ns = bytes > 1000 ? base::kMillisecond_ns / 2 : 0;
      w.setScript(always(answer));
      Got got;
      w.start(1, {.path = "/1"}, &got);
      w.runFor(wait * base::kMillisecond_ns);
      const bool ended = got.came != Came::nothing;
      bool purged = false;
      w.startPurge("/1", false, &purged);
      answer.version = 2;
      w.setScript(always(answer));
      w.finish();
      EXPECT_TRUE(purged);
      EXPECT_EQ(got.came, Came::filled);
      EXPECT_EQ(got.bytes, bytes);
      if (!ended && got.version == 1) {
        const Got next = w.get({.path = "/1"});
        EXPECT_EQ(next.came, Came::filled) << "after " << wait << " ms";
        EXPECT_EQ(next.version, 2U);
      }
    }
  }
}

TEST(Purging, AllLeavesNothing) {
  CacheWorld w(18, onShards(2), sim::Options());
  w.setScript(always(Answer()));
  for (int i = 0; i < 30; i++) {
    w.get({.path = "/" + std::to_string(i)});
  }
  ASSERT_TRUE(w.purgeAll());
  for (int i = 0; i < 30; i++) {
    EXPECT_EQ(w.get({.path = "/" + std::to_string(i)}, i % 2).came, Came::filled);
  }
}

TEST(Purging, SoftlyMakesStale) {
  CacheWorld w(19, onShards(2), sim::Options());
  Answer answer;
  answer.head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nCache-Control: max-age=1000\r\n";
  w.setScript(always(answer));
  w.get({.path = "/1"});
  ASSERT_TRUE(w.purge("/1", true));
  bool conditional = false;
  w.setScript([&](const FetchPlan& plan, uint64_t) {
    conditional = plan.kind == policy::FetchKind::revalidate;
    Answer current;
    current.head = "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n";
    current.bytes = 0;
    return current;
  });
  EXPECT_EQ(w.get({.path = "/1"}, 1).came, Came::hit);
  EXPECT_TRUE(conditional);
  EXPECT_EQ(w.fetches(), 2U);
  EXPECT_EQ(w.get({.path = "/1"}, 1).came, Came::hit);
  EXPECT_EQ(w.fetches(), 2U);
}

// The end.

sim::DiskOptions thatDoesNotWrite() {
  sim::DiskOptions disk;
  disk.write_error = sim::kAlways;
  return disk;
}

TEST(Invalidating, IsWrittenDownAsSoonAsTheDiskTakesIt) {
  CacheWorld w(31);
  EXPECT_EQ(w.get({.path = "/a"}).came, Came::filled);
  Stripe& stripe = w.stripeOf("/a");
  w.world.setDisk(thatDoesNotWrite());
  EXPECT_TRUE(w.invalidate("/a"));
  EXPECT_FALSE(w.purge("/b"));  // the answer says so, and it is tried on all the same
  w.runFor(10 * base::kSecond_ns);
  EXPECT_FALSE(w.entry("/a").has_value());
  EXPECT_EQ(stripe.notDurable() + w.stripeOf("/b").notDurable(),
            &stripe == &w.stripeOf("/b") ? 4U : 2U);
  w.world.setDisk(sim::DiskOptions());
  w.runFor(10 * base::kSecond_ns);
  EXPECT_EQ(stripe.notDurable(), 0U);
  EXPECT_EQ(w.stripeOf("/b").notDurable(), 0U);
  EXPECT_EQ(stripe.stats().invalidations_lost, 0U);
}

TEST(Invalidating, BeyondTheLimitOneNoteStandsForAll) {
  CacheWorld w(32);
  EXPECT_EQ(w.get({.path = "/a"}).came, Came::filled);
  Stripe& stripe = w.stripeOf("/a");
  const store::Entry stored = w.entry("/a").value_or(store::Entry());
  w.world.setDisk(thatDoesNotWrite());
  w.invalidateOften("/a", stored, 1);
  w.runFor(100 * base::kMillisecond_ns);  // the first attempt has failed, the second waits
  w.invalidateOften("/a", stored, Stripe::kMaxNotDurable - 1);
  EXPECT_EQ(stripe.notDurable(), Stripe::kMaxNotDurable);
  EXPECT_EQ(stripe.stats().invalidations_widened, 0U);
  w.invalidateOften("/a", stored, 1);
  EXPECT_EQ(stripe.notDurable(), 1U);
  EXPECT_EQ(stripe.stats().invalidations_widened, 1U);
  w.world.setDisk(sim::DiskOptions());
  w.runFor(10 * base::kSecond_ns);
  EXPECT_EQ(stripe.notDurable(), 0U);
}

TEST(Invalidating, WhatAStoppedStripeCouldNotWriteIsCounted) {
  CacheWorld w(33);
  EXPECT_EQ(w.get({.path = "/a"}).came, Came::filled);
  w.world.setDisk(thatDoesNotWrite());
  EXPECT_TRUE(w.invalidate("/a"));
  w.stop();
  EXPECT_EQ(w.stripeOf("/a").stats().invalidations_lost, 1U);
}

TEST(Stopping, InTheMiddleOfFillsJoinsEverything) {
  for (uint64_t wait = 0; wait < 8; wait++) {
    CacheWorld w(wait + 1, onShards(2), sim::Options());
    Answer answer;
    answer.bytes = 3 * kMiB;
    answer.piece_delay_ns = base::kMillisecond_ns / 4;
    answer.head_delay_ns = 2 * base::kMillisecond_ns;
    w.setScript(always(answer));
    std::deque<Got> gots(12);
    for (size_t i = 0; i < gots.size(); i++) {
      w.start(i % 2, {.path = "/" + std::to_string(i / 2)}, &gots[i]);
    }
    w.runFor(wait * 2 * base::kMillisecond_ns);
    w.startStop();
    w.finish();
    for (const Got& got : gots) {
      EXPECT_NE(got.came, Came::nothing);
      EXPECT_TRUE(got.came != Came::filled || got.bytes == answer.bytes);
    }
    EXPECT_EQ(w.inFlight(), 0U);
    EXPECT_EQ(w.pool(0).bytesInUse(), 0U);
    EXPECT_EQ(w.pool(1).bytesInUse(), 0U);
  }
}

// More fills than there is memory for: they take turns.
TEST(Limits, ManyLargeFillsShareLittleMemory) {
  CacheWorld::Cut cut;
  cut.stripes = 1;
  cut.pool_bytes = 8 * kMiB;
  CacheWorld w(20, cut, sim::Options());
  Answer answer;
  answer.bytes = 1200 * kKiB;
  answer.piece_delay_ns = base::kMillisecond_ns;
  w.setScript(always(answer));
  std::deque<Got> gots(24);
  for (size_t i = 0; i < gots.size(); i++) {
    w.start(0, {.path = "/" + std::to_string(i)}, &gots[i]);
  }
  w.finish();
  for (const Got& got : gots) {
    EXPECT_EQ(got.came, Came::filled);
    EXPECT_EQ(got.bytes, answer.bytes);
  }
}

}  // namespace
}  // namespace cache
