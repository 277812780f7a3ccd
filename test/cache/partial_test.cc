// Goal: a long response that breaks off is completed by the next request, with bytes of one version
// alone, and is never taken for the whole. Method: caches on simulated shards with a scripted
// origin that ends bodies early; every byte that a client gets is checked against its version.
#include <gtest/gtest.h>

#include <string>

#include "test/cache/cache_world.h"

namespace cache {
namespace {

constexpr uint64_t kLength = 3'000'000;
constexpr uint64_t kChunk = Fill::kChunkBody;
constexpr std::string_view kHead =
    "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nCache-Control: max-age=1000\r\n";

CacheWorld::Cut one() {
  CacheWorld::Cut cut;
  cut.stripes = 1;
  return cut;
}

Answer whole(std::string_view head = kHead) {
  Answer answer;
  answer.head = head;
  answer.bytes = kLength;
  return answer;
}

Answer cutAfter(uint64_t bytes, std::string_view head = kHead) {
  Answer answer = whole(head);
  answer.fails_after = bytes;
  return answer;
}

Answer rest(uint64_t first, std::string_view etag = "\"a\"") {
  Answer answer;
  answer.head =
      "HTTP/1.1 206 Partial Content\r\nCache-Control: max-age=1000\r\nETag: " + std::string(etag) +
      "\r\nContent-Range: bytes " + std::to_string(first) + "-" + std::to_string(kLength - 1) +
      "/" + std::to_string(kLength) + "\r\n";
  answer.first = first;
  answer.bytes = kLength - first;
  return answer;
}

Get path(const std::string& p) {
  Get get;
  get.path = p;
  return get;
}

// What the fetches asked for.
struct Asked {
  uint64_t whole = 0;
  uint64_t rest = 0;
  std::string range;
  std::string etag;
  void note(const FetchPlan& plan) {
    (plan.kind == policy::FetchKind::rest ? rest : whole)++;
    range = plan.range;
    etag = plan.validators.etag;
  }
};

// The first fetch is answered with `first`, those for the rest with `second`, others whole.
void script(CacheWorld& w, Asked& asked, const Answer& first, const Answer& second) {
  w.setScript([&asked, first, second](const FetchPlan& plan, uint64_t number) {
    asked.note(plan);
    if (number == 1) {
      return first;
    }
    return plan.kind == policy::FetchKind::rest ? second : whole();
  });
}

TEST(Partial, IsCompletedFromWhereItEnds) {
  CacheWorld w(1, one(), sim::Options());
  Asked asked;
  script(w, asked, cutAfter(2 * kChunk + 1000), rest(2 * kChunk));
  EXPECT_EQ(w.get(path("/x")).came, Came::cut);
  w.forgetMemory();
  const Got got = w.get(path("/x"));
  EXPECT_EQ(got.came, Came::filled);
  EXPECT_EQ(got.bytes, kLength);
  EXPECT_TRUE(got.stored);
  EXPECT_EQ(got.head.find("HTTP/1.1 200"), 0U);
  EXPECT_EQ(got.head.find("Content-Range"), std::string::npos);
  EXPECT_NE(got.head.find("Content-Length: 3000000\r\n"), std::string::npos);
  EXPECT_EQ(asked.range, "bytes=" + std::to_string(2 * kChunk) + "-");
  EXPECT_EQ(asked.etag, "\"a\"");
  EXPECT_EQ(asked.rest, 1U);
  const Got again = w.get(path("/x"));
  EXPECT_EQ(again.came, Came::hit);
  EXPECT_EQ(again.bytes, kLength);
  EXPECT_EQ(w.stripeOf("/x").stats().partials_kept, 1U);
  EXPECT_EQ(w.stripeOf("/x").stats().partials_resumed, 1U);
}

TEST(Partial, GrowsUntilItIsWhole) {
  CacheWorld w(2, one(), sim::Options());
  w.setScript([](const FetchPlan& plan, uint64_t) {
    uint64_t first = 0;
    if (plan.kind == policy::FetchKind::rest) {
      first = std::stoull(std::string(plan.range.substr(6)));
    }
    Answer answer = first == 0 ? whole() : rest(first);
    answer.fails_after = kChunk + 10;  // one chunk more each time
    return answer;
  });
  int tries = 1;
  while (w.get(path("/x")).came == Came::cut) {
    ASSERT_LT(++tries, 10);
  }
  EXPECT_EQ(tries, 6);  // 5 chunks of 508 KiB and a piece
  EXPECT_EQ(w.get(path("/x")).came, Came::hit);
}

TEST(Partial, OfAnotherVersionIsFetchedWhole) {
  struct Case {
    const char* what;
    Answer answer;
    uint64_t whole;  // fetches without a range
  };
  Answer not_range = whole();
  Answer other = whole("HTTP/1.1 200 OK\r\nETag: \"b\"\r\nCache-Control: max-age=1000\r\n");
  other.version = 2;
  Answer unsatisfied;
  unsatisfied.head = "HTTP/1.1 416 No\r\n";
  Answer short_of_it = rest(kChunk);
  short_of_it.head = short_of_it.head.replace(short_of_it.head.find("2999999"), 7, "2999998");
  short_of_it.bytes--;
  const Case cases[] = {
      {"the whole", not_range, 1},
      {"another version, whole", other, 1},
      {"416", unsatisfied, 2},
      {"a part of another version", rest(kChunk, "\"b\""), 2},
      {"a weak tag", rest(kChunk, "W/\"a\""), 2},
      {"another part", rest(2 * kChunk), 2},
      {"not all of it", short_of_it, 2},
  };
  for (const Case& c : cases) {
    CacheWorld w(3, one(), sim::Options());
    Asked asked;
    script(w, asked, cutAfter(kChunk + 1000), c.answer);
    EXPECT_EQ(w.get(path("/x")).came, Came::cut);
    const Got got = w.get(path("/x"));
    EXPECT_EQ(got.came, Came::filled) << c.what;
    EXPECT_EQ(got.bytes, kLength) << c.what;
    EXPECT_EQ(asked.rest, 1U) << c.what;
    EXPECT_EQ(asked.whole, c.whole) << c.what;
    EXPECT_EQ(w.get(path("/x")).came, Came::hit) << c.what;
  }
}

TEST(Partial, IsKeptOnlyOfWhatCanBeCompleted) {
  struct Case {
    const char* what;
    Answer answer;
    bool kept;
  };
  Answer no_length = cutAfter(2 * kChunk);
  no_length.says_length = false;
  const Case cases[] = {
      {"one chunk and a byte", cutAfter(kChunk + 1), true},
      {"less than a chunk", cutAfter(kChunk - 1), false},
      {"a weak tag",
       cutAfter(2 * kChunk, "HTTP/1.1 200 OK\r\nETag: W/\"a\"\r\nCache-Control: max-age=9\r\n"),
       false},
      {"no tag", cutAfter(2 * kChunk, "HTTP/1.1 200 OK\r\nCache-Control: max-age=9\r\n"), false},
      {"no ranges", cutAfter(2 * kChunk, std::string(kHead) + "Accept-Ranges: none\r\n"), false},
      {"not stored",
       cutAfter(2 * kChunk, "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nCache-Control: no-store\r\n"),
       false},
      {"no length", no_length, false},
  };
  for (const Case& c : cases) {
    CacheWorld w(4, one(), sim::Options());
    Asked asked;
    script(w, asked, c.answer, rest(kChunk));
    EXPECT_EQ(w.get(path("/x")).came, Came::cut) << c.what;
    EXPECT_EQ(w.stripeOf("/x").stats().partials_kept, c.kept ? 1U : 0U) << c.what;
  }
}

TEST(Partial, GoesWithAPurge) {
  for (const bool by_key : {true, false}) {
    CacheWorld w(5, one(), sim::Options());
    Asked asked;
    script(w, asked, cutAfter(2 * kChunk), rest(kChunk));
    EXPECT_EQ(w.get(path("/x")).came, Came::cut);
    if (by_key) {
      ASSERT_TRUE(w.purge("/x"));
    } else {
      ASSERT_TRUE(w.purgePrefix("/").has_value());
    }
    EXPECT_EQ(w.get(path("/x")).came, Came::filled);
    EXPECT_EQ(asked.rest, 0U);
  }
}

TEST(Partial, IsKeptWhenTheClientsHaveLeft) {
  CacheWorld::Cut cut = one();
  cut.max_object_bytes = 64 << 20;
  CacheWorld w(6, cut, sim::Options());
  constexpr uint64_t kHuge = 40'000'000;  // more than is fetched for nobody
  Asked asked;
  w.setScript([&asked](const FetchPlan& plan, uint64_t) {
    asked.note(plan);
    Answer answer = whole();
    answer.bytes = kHuge;
    answer.piece_delay_ns = base::kMillisecond_ns;
    return answer;
  });
  Get get = path("/x");
  get.leaves_after = 2 * kChunk;
  EXPECT_EQ(w.get(get).came, Came::left);
  ASSERT_TRUE(w.run([&] { return w.origin().running == 0; }));
  ASSERT_TRUE(w.run([&] { return w.stripeOf("/x").fillsRunning() == 0; }));
  EXPECT_EQ(w.stripeOf("/x").stats().partials_kept, 1U);
}

TEST(Partial, ARangeInItIsReadFromTheDisk) {
  CacheWorld w(7, one(), sim::Options());
  Asked asked;
  script(w, asked, cutAfter(3 * kChunk), rest(2 * kChunk));
  EXPECT_EQ(w.get(path("/x")).came, Came::cut);
  Get get = path("/x");
  get.range_first = 1000;
  get.range_last = 1999;
  const Got got = w.get(get);
  EXPECT_EQ(got.came, Came::filled);
  EXPECT_EQ(got.bytes, 1000U);
}

}  // namespace
}  // namespace cache
