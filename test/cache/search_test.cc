// Goal: where a route heeds No-Vary-Search, a response answers the queries that it says it answers
// and no others, on every shard, whatever else the path has said before; and a purge of one of them
// is a purge of all. Method: caches on two simulated shards with a scripted origin.
#include <gtest/gtest.h>

#include <string>

#include "source/http/head.h"
#include "test/cache/cache_world.h"

namespace cache {
namespace {

CacheWorld::Cut heeding(uint16_t shards = 2) {
  CacheWorld::Cut cut;
  cut.shards = shards;
  cut.stripes = 4;
  cut.no_vary_search = true;
  return cut;
}

Answer saying(const std::string& variance) {
  Answer answer;
  answer.head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nCache-Control: max-age=1000\r\n";
  if (!variance.empty()) {
    answer.head += "No-Vary-Search: " + variance + "\r\n";
  }
  return answer;
}

ScriptedOrigin::Script always(const Answer& answer) {
  return [answer](const FetchPlan&, uint64_t) { return answer; };
}

Came ask(CacheWorld& w, const std::string& path, uint16_t shard = 0) {
  Get get;
  get.path = path;
  return w.get(get, shard).came;
}

TEST(NoVarySearch, IsInForceOnEveryShardAfterTheFirstResponse) {
  CacheWorld w(1, heeding(), sim::Options());
  w.setScript(always(saying("params=(\"utm\")")));
  EXPECT_EQ(ask(w, "/p?id=1&utm=a"), Came::filled);
  for (int i = 0; i < 8; i++) {
    EXPECT_EQ(ask(w, "/p?utm=" + std::to_string(i) + "&id=1", i % 2), Came::hit) << i;
  }
  EXPECT_EQ(ask(w, "/p?id=2"), Came::filled);
  EXPECT_EQ(ask(w, "/q?id=1&utm=a"), Came::filled) << "another path";
  w.forgetMemory();
  EXPECT_EQ(ask(w, "/p?id=1&utm=b", 0), Came::hit) << "rule and object from the disk";
  EXPECT_EQ(ask(w, "/p?id=1&utm=b", 1), Came::hit);
}

TEST(NoVarySearch, OfAnotherResponseStartsAnew) {
  CacheWorld w(2, heeding(), sim::Options());
  w.setScript(always(saying("params=(\"a\")")));
  EXPECT_EQ(ask(w, "/p?a=1&b=1"), Came::filled);
  w.setScript(always(saying("params=(\"b\")")));
  EXPECT_EQ(ask(w, "/p?a=2&b=2"), Came::filled);
  EXPECT_EQ(ask(w, "/p?a=2&b=3", 1), Came::hit);
  EXPECT_EQ(ask(w, "/p?a=1&b=1"), Came::filled) << "what was stored by the old rule is not found";
  w.setScript(always(saying("params=(\"a\")")));
  EXPECT_EQ(ask(w, "/p?a=3&b=1"), Came::filled);
  EXPECT_EQ(ask(w, "/p?a=4&b=1"), Came::hit);
}

TEST(NoVarySearch, AResponseWithoutItAnswersItsUrlAlone) {
  CacheWorld w(3, heeding(), sim::Options());
  w.setScript(always(saying("params")));
  EXPECT_EQ(ask(w, "/p?1"), Came::filled);
  EXPECT_EQ(ask(w, "/p?2"), Came::hit);
  ASSERT_TRUE(w.purge("/p?3"));
  w.setScript(always(saying("")));
  EXPECT_EQ(ask(w, "/p?1"), Came::filled);
  EXPECT_EQ(ask(w, "/p?1", 1), Came::hit);
  EXPECT_EQ(ask(w, "/p?2", 1), Came::filled);
  EXPECT_EQ(ask(w, "/p?2"), Came::hit);
}

TEST(NoVarySearch, WhoJoinedByAnOldRuleIsNotGivenAnothersResponse) {
  CacheWorld w(4, heeding(), sim::Options());
  w.setScript(always(saying("params")));
  EXPECT_EQ(ask(w, "/p?1"), Came::filled);
  ASSERT_TRUE(w.purge("/p"));
  Answer slow = saying("params=(\"utm\")");
  slow.head_delay_ns = base::kSecond_ns;
  w.setScript(always(slow));
  Got first;
  Got second;
  Get get;
  get.path = "/p?1";
  w.start(0, get, &first);
  ASSERT_TRUE(w.run([&] { return w.fetches() == 2; }));
  get.path = "/p?2";
  w.start(1, get, &second);
  w.finish();
  EXPECT_EQ(first.came, Came::filled);
  EXPECT_TRUE(second.collapsed);
  EXPECT_EQ(second.came, Came::released);
}

TEST(NoVarySearch, APurgeTakesAllEquivalentQueries) {
  for (const bool soft : {false, true}) {
    CacheWorld w(5, heeding(), sim::Options());
    w.setScript(always(saying("params=(\"utm\")")));
    ask(w, "/p?id=1&utm=a");
    ask(w, "/p?id=2");
    w.forgetMemory();
    ASSERT_TRUE(w.purge("/p?utm=x&id=1", soft));
    EXPECT_EQ(ask(w, "/p?id=2", 1), Came::hit) << soft;
    const uint64_t before = w.fetches();
    ask(w, "/p?id=1", 1);
    EXPECT_EQ(w.fetches(), before + 1) << soft;
  }
}

TEST(NoVarySearch, APurgeConcernsEveryFetchOfThePath) {
  CacheWorld w(6, heeding(), sim::Options());
  Answer slow = saying("params=(\"utm\")");
  slow.head_delay_ns = base::kSecond_ns;
  w.setScript(always(slow));
  Got got;
  Get get;
  get.path = "/p?id=1&utm=1";
  w.start(0, get, &got);
  ASSERT_TRUE(w.run([&] { return w.fetches() == 1; }));
  ASSERT_TRUE(w.purge("/p?id=1&utm=2"));
  EXPECT_EQ(got.came, Came::filled);
  EXPECT_EQ(ask(w, "/p?id=1&utm=2"), Came::filled) << "it was asked for before the purge";
}

TEST(NoVarySearch, IsNotHeededByOtherRoutes) {
  CacheWorld w(7);
  w.setScript(always(saying("params")));
  EXPECT_EQ(ask(w, "/p?1"), Came::filled);
  EXPECT_EQ(ask(w, "/p?2"), Came::filled);
  EXPECT_EQ(ask(w, "/p?1"), Came::hit);
}

}  // namespace
}  // namespace cache
