// Goal: an object carries its response's tags for as long as it lives, a purge by tag or prefix
// finds it by them on whichever shard it lies, and no fetch that began before brings it back.
// Method: caches on two simulated shards with a scripted origin.
#include <gtest/gtest.h>

#include <string>

#include "source/policy/groups.h"
#include "test/cache/cache_world.h"

namespace cache {
namespace {

CacheWorld::Cut twoShards() {
  CacheWorld::Cut cut;
  cut.shards = 2;
  cut.stripes = 4;
  return cut;
}

Answer tagged(const std::string& field) {
  Answer answer;
  answer.head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nCache-Control: max-age=1000\r\n" + field;
  return answer;
}

ScriptedOrigin::Script always(const Answer& answer) {
  return [answer](const FetchPlan&, uint64_t) { return answer; };
}

std::string pathOf(int number) {
  return "/d/" + std::to_string(number);
}

TEST(Tags, APurgeFindsWhatCarriesTheTagOnEveryShard) {
  CacheWorld w(1, twoShards(), sim::Options());
  w.setScript(always(tagged("Surrogate-Key: red blue\r\nCache-Tag: dark green\r\n")));
  for (int i = 0; i < 20; i++) {
    w.get({.path = pathOf(i)}, i % 2);
  }
  w.setScript(always(tagged("Surrogate-Key: yellow\r\n")));
  w.get({.path = "/other"});
  EXPECT_EQ(w.purgeTag("green"), 0U);
  EXPECT_EQ(w.purgeTag("dark green"), 20U);
  EXPECT_EQ(w.purgeTag("red"), 0U);
  for (int i = 0; i < 20; i++) {
    EXPECT_EQ(w.get({.path = pathOf(i)}, 1 - i % 2).came, Came::filled) << i;
  }
  EXPECT_EQ(w.get({.path = "/other"}).came, Came::hit);
}

TEST(Tags, APrefixNeedsNoTags) {
  CacheWorld w(2, twoShards(), sim::Options());
  w.setScript(always(tagged("")));
  for (int i = 0; i < 12; i++) {
    w.get({.path = pathOf(i)});
  }
  w.get({.path = "/e/1"});
  EXPECT_EQ(w.purgePrefix("/d/1"), 3U);  // 1, 10, 11
  EXPECT_EQ(w.purgePrefix("/d/"), 9U);
  EXPECT_EQ(w.purgePrefix("/d"), 0U);
  EXPECT_EQ(w.get({.path = "/e/1"}).came, Came::hit);
  EXPECT_EQ(w.purgePrefix("/"), 1U);
}

TEST(Tags, SoftlyPurgedIsRevalidated) {
  CacheWorld w(3, twoShards(), sim::Options());
  w.setScript(always(tagged("Surrogate-Key: red\r\n")));
  w.get({.path = "/1"});
  EXPECT_EQ(w.purgeTag("red", true), 1U);
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
  // The 304 said nothing of tags: the object still has them.
  EXPECT_EQ(w.purgeTag("red"), 1U);
}

TEST(Tags, A304ReplacesTheTagsItNames) {
  CacheWorld w(4, twoShards(), sim::Options());
  w.setScript(always(tagged("Surrogate-Key: red\r\n")));
  w.get({.path = "/1"});
  w.purgeTag("red", true);
  Answer current;
  current.head = "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nSurrogate-Key: blue\r\n";
  current.bytes = 0;
  w.setScript(always(current));
  EXPECT_EQ(w.get({.path = "/1"}).came, Came::hit);
  EXPECT_EQ(w.purgeTag("red"), 0U);
  EXPECT_EQ(w.purgeTag("blue"), 1U);
}

TEST(Tags, AFetchThatBeganBeforeAPurgeIsNotKept) {
  for (const uint64_t bytes : {uint64_t{1000}, uint64_t{1} << 20}) {
    for (const bool by_prefix : {false, true}) {
      for (uint64_t wait = 1; wait < 12; wait++) {
        CacheWorld w(wait + 1, twoShards(), sim::Options());
        Answer answer = tagged("Surrogate-Key: red\r\n");
        answer.bytes = bytes;
        answer.head_delay_ns = 2 * base::kMillisecond_ns;
        answer.piece_delay_ns = bytes > 1000 ? base::kMillisecond_ns / 2 : 0;
        w.setScript(always(answer));
        Got got;
        w.start(1, {.path = "/d/1"}, &got);
        w.runFor(wait * base::kMillisecond_ns);
        ASSERT_TRUE((by_prefix ? w.purgePrefix("/d/") : w.purgeTag("red")).has_value());
        answer.version = 2;
        w.setScript(always(answer));
        w.finish();
        EXPECT_EQ(got.bytes, bytes);
        if (got.version == 1) {
          const Got next = w.get({.path = "/d/1"});
          EXPECT_EQ(next.came, Came::filled) << "after " << wait << " ms";
          EXPECT_EQ(next.version, 2U);
          EXPECT_EQ(w.get({.path = "/d/1"}).came, Came::hit);
        }
      }
    }
  }
}

// A fetch whose tags are not known is judged by the purges that were made meanwhile; beyond their
// limit it counts as purged.
TEST(Tags, PurgesAreRememberedForRunningFetchesUpToALimit) {
  for (const size_t purges : {Stripe::kRecentPurges, Stripe::kRecentPurges + 1}) {
    CacheWorld w(5, twoShards(), sim::Options());
    Answer answer = tagged("Surrogate-Key: red\r\n");
    answer.head_delay_ns = 50 * base::kSecond_ns;
    w.setScript(always(answer));
    Got got;
    w.start(0, {.path = "/1"}, &got);
    w.runFor(base::kMillisecond_ns);
    Stripe& stripe = w.stripeOf("/1");
    for (size_t i = 0; i < purges; i++) {
      stripe.rememberPurge(1000 + i);
    }
    w.finish();
    EXPECT_EQ(got.came, Came::filled);
    answer.head_delay_ns = 0;
    w.setScript(always(answer));
    EXPECT_EQ(w.get({.path = "/1"}).came,
              purges > Stripe::kRecentPurges ? Came::filled : Came::hit);
  }
}

TEST(Tags, AResponseWithMoreThanTheLimitIsNotStored) {
  for (const size_t tags : {policy::kMaxTags, policy::kMaxTags + 1}) {
    CacheWorld w(6, twoShards(), sim::Options());
    std::string field = "Surrogate-Key:";
    for (size_t i = 0; i < tags; i++) {
      field += " t" + std::to_string(i);
    }
    w.setScript(always(tagged(field + "\r\n")));
    w.get({.path = "/1"});
    const bool stored = tags == policy::kMaxTags;
    EXPECT_EQ(w.get({.path = "/1"}).came == Came::hit, stored);
    EXPECT_EQ(w.purgeTag("t" + std::to_string(policy::kMaxTags - 1)), stored ? 1U : 0U);
  }
}

TEST(CacheGroups, ArePurgedOnEveryShard) {  // RFC 9875 2.1, 3
  CacheWorld w(11, twoShards(), sim::Options());
  w.setScript(always(tagged("Cache-Groups: \"red\", \"dark blue\"\r\n")));
  for (int i = 0; i < 20; i++) {
    w.get({.path = pathOf(i)}, i % 2);
  }
  w.setScript(always(tagged("Cache-Groups: \"green\"\r\nSurrogate-Key: red\r\n")));
  w.get({.path = "/other"});
  EXPECT_EQ(w.purgeGroup("re"), 0U);
  EXPECT_EQ(w.purgeGroup("red", 1), 20U);
  EXPECT_EQ(w.purgeGroup("dark blue"), 0U);
  for (int i = 0; i < 20; i++) {
    EXPECT_EQ(w.get({.path = pathOf(i)}, 1 - i % 2).came, Came::filled) << i;
  }
  EXPECT_EQ(w.get({.path = "/other"}).came, Came::hit) << "a tag is no group";
  EXPECT_EQ(w.purgeTag("green"), 0U) << "a group is no tag";
}

TEST(CacheGroups, OfAFillThatRunsAreJudgedWhenItsHeadComes) {
  CacheWorld w(12, twoShards(), sim::Options());
  Answer slow = tagged("Cache-Groups: \"red\"\r\n");
  slow.head_delay_ns = base::kSecond_ns;
  w.setScript(always(slow));
  Got got;
  w.start(0, {.path = "/slow"}, &got);
  CHECK(w.run([&] { return w.fetches() == 1; }));
  EXPECT_EQ(w.purgeGroup("red"), 0U);
  w.finish();
  EXPECT_EQ(got.came, Came::filled);
  EXPECT_EQ(w.get({.path = "/slow"}).came, Came::filled) << "it was asked for before the purge";
  EXPECT_EQ(w.get({.path = "/slow"}).came, Came::hit);
}

TEST(CacheGroups, StayThoughA304DoesNotNameThem) {  // RFC 9111 3.2
  CacheWorld w(13, twoShards(), sim::Options());
  w.setScript([](const FetchPlan& plan, uint64_t) {
    Answer answer = tagged("Cache-Groups: \"red\"\r\n");
    if (plan.kind == policy::FetchKind::revalidate) {
      answer.head = "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n";
      answer.bytes = 0;
    }
    return answer;
  });
  w.get({.path = "/1"});
  ASSERT_TRUE(w.purge("/1", true));
  EXPECT_EQ(w.get({.path = "/1"}).came, Came::hit);
  EXPECT_EQ(w.purgeGroup("red"), 1U);
}

TEST(CacheGroups, CountAmongTheLabelsThatAnObjectCanHave) {
  const auto listOf = [](size_t tags, size_t groups) {
    std::string fields = "Surrogate-Key:";
    for (size_t i = 0; i < tags; i++) {
      fields += " t" + std::to_string(i);
    }
    fields += "\r\nCache-Groups: \"g0\"";
    for (size_t i = 1; i < groups; i++) {
      fields += ", \"g" + std::to_string(i) + "\"";
    }
    return tagged(fields + "\r\n");
  };
  // "/" has one directory.
  const size_t tags = store::kMaxLabels - 1 - policy::kMaxGroups;
  CacheWorld w(14);
  w.setScript(always(listOf(tags, policy::kMaxGroups)));
  EXPECT_TRUE(w.get({.path = "/most"}).stored);
  w.setScript(always(listOf(tags + 1, policy::kMaxGroups)));
  EXPECT_FALSE(w.get({.path = "/more"}).stored);
}

}  // namespace
}  // namespace cache
