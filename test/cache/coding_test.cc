// Goal: what is compressed on its way into the cache is stored whole, once, under its own variant,
// and found on every shard and on the disk; revalidations keep it; what fails leaves nothing; the
// limit of coders holds. Method: caches on one and two simulated shards with a scripted origin.
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "source/coding/coder.h"
#include "test/cache/cache_world.h"

namespace cache {
namespace {

constexpr std::string_view kHead =
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=1000\r\nContent-Type: text/plain\r\nETag: \"v\"\r\n";
constexpr uint64_t kKiB = 1024;

CacheWorld::Cut compressing(uint16_t shards = 1) {
  CacheWorld::Cut cut;
  cut.shards = shards;
  cut.stripes = 1;
  cut.compression = policy::Compression{
      .algorithms = {policy::Coding::br, policy::Coding::zstd, policy::Coding::gzip},
      .min_length = 1,
      .content_types = {"text/"},
      .level = std::nullopt};
  cut.accept_encodings = {"br", "zstd", "gzip"};
  return cut;
}

Answer text(uint64_t bytes) {
  Answer answer;
  answer.head = kHead;
  answer.bytes = bytes;
  return answer;
}

ScriptedOrigin::Script always(const Answer& answer) {
  return [answer](const FetchPlan&, uint64_t) { return answer; };
}

Get wanting(std::string_view coding, std::string path = "/1") {
  Get get;
  get.path = std::move(path);
  get.fields = "Accept-Encoding: " + std::string(coding) + "\r\n";
  return get;
}

std::string decoded(policy::Coding coding, std::string_view text) {
  const std::unique_ptr<coding::Coder> decoder = coding::makeDecoder(coding);
  std::string out;
  std::string piece(100'000, '\0');
  while (true) {
    const std::optional<coding::Step> step = decoder->step(
        std::as_bytes(std::span(text)), std::as_writable_bytes(std::span(piece)), true);
    if (!step.has_value() || (step->consumed == 0 && step->produced == 0 && !step->finished)) {
      return "broken";
    }
    text.remove_prefix(step->consumed);
    out.append(piece, 0, step->produced);
    if (step->finished) {
      return out;
    }
  }
}

std::string plain(uint64_t version, uint64_t bytes) {
  std::string text;
  for (uint64_t i = 0; i < bytes; i++) {
    text.push_back(static_cast<char>(byteAt(version, i)));
  }
  return text;
}

class Coded : public testing::TestWithParam<uint16_t> {};

TEST_P(Coded, IsStoredWholeInEverySizeAndCoding) {
  CacheWorld w(1, compressing(GetParam()), sim::Options());
  const auto other = static_cast<uint16_t>(GetParam() - 1);
  uint64_t number = 0;
  for (const uint64_t bytes : {uint64_t{1}, 40 * kKiB, 3000 * kKiB}) {
    for (const policy::Coding coding :
         {policy::Coding::br, policy::Coding::zstd, policy::Coding::gzip}) {
      for (const bool says_length : {true, false}) {
        SCOPED_TRACE(std::string(policy::name(coding)) + " " + std::to_string(bytes));
        Answer answer = text(bytes);
        answer.says_length = says_length;
        answer.version = ++number;
        w.setScript(always(answer));
        const Get get = wanting(policy::name(coding), "/" + std::to_string(number));
        const uint64_t before = w.fetches();
        const Got first = w.get(get);
        EXPECT_EQ(first.came, Came::filled);
        EXPECT_TRUE(first.stored);
        EXPECT_NE(first.head.find("ETag: W/\"v\"\r\n"), std::string::npos);
        EXPECT_NE(first.head.find("Vary: Accept-Encoding\r\n"), std::string::npos);
        const std::string whole = plain(number, bytes);
        EXPECT_EQ(decoded(coding, first.coded), whole);
        EXPECT_TRUE(bytes < kKiB || first.coded.size() < bytes / 2);
        const Got second = w.get(get, other);
        EXPECT_EQ(second.came, Came::hit);
        EXPECT_EQ(second.coded, first.coded);
        w.forgetMemory();
        const Got third = w.get(get, other);
        EXPECT_EQ(third.came, Came::hit);
        EXPECT_EQ(third.coded, first.coded);
        EXPECT_EQ(w.fetches(), before + 1);
      }
    }
  }
  EXPECT_EQ(w.stripeOf("/1").stats().compressed, number);
}
INSTANTIATE_TEST_SUITE_P(OneAndTwoShards, Coded, testing::Values(1, 2));

TEST(Coded, JoinsAndVariants) {
  CacheWorld w(2, compressing(), sim::Options());
  Answer answer = text(900 * kKiB);
  answer.piece_delay_ns = base::kMillisecond_ns;
  w.setScript(always(answer));
  std::deque<Got> gots(10);
  for (Got& got : gots) {
    w.start(0, wanting("gzip"), &got);
  }
  w.finish();
  for (const Got& got : gots) {
    EXPECT_EQ(decoded(policy::Coding::gzip, got.coded), plain(1, answer.bytes));
  }
  EXPECT_EQ(w.fetches(), 1U);
  const Got identity = w.get({.path = "/1"});
  EXPECT_EQ(identity.came, Came::filled);
  EXPECT_EQ(identity.bytes, answer.bytes);
  EXPECT_NE(identity.head.find("ETag: \"v\"\r\n"), std::string::npos);
  EXPECT_EQ(w.get({.path = "/1"}).came, Came::hit);
  EXPECT_EQ(w.get(wanting("gzip")).came, Came::hit);
  EXPECT_EQ(w.fetches(), 2U);
  EXPECT_TRUE(w.purge("/1"));
  EXPECT_EQ(w.get(wanting("gzip")).came, Came::filled);
  EXPECT_EQ(w.get({.path = "/1"}).came, Came::filled);
}

TEST(Coded, WhatIsCutShortIsNotStored) {
  CacheWorld w(3, compressing(), sim::Options());
  Answer answer = text(900 * kKiB);
  answer.fails_after = 700 * kKiB;
  w.setScript(always(answer));
  EXPECT_EQ(w.get(wanting("br")).came, Came::cut);
  EXPECT_EQ(w.get(wanting("br")).came, Came::cut);
  EXPECT_EQ(w.fetches(), 2U);
  EXPECT_EQ(w.stripeOf("/1").stats().partials_kept, 0U);
}

TEST(Coded, WhatIsNotWhatItSaysIsCutShort) {
  CacheWorld w(4, compressing(), sim::Options());
  Answer answer = text(5000);
  answer.head += "Content-Encoding: gzip\r\n";
  w.setScript(always(answer));
  EXPECT_EQ(w.get({.path = "/1"}).came, Came::cut);
  EXPECT_EQ(w.stripeOf("/1").stats().coding_failures, 1U);
  EXPECT_EQ(w.stripeOf("/1").stats().decompressed, 1U);
  EXPECT_EQ(w.get(wanting("gzip")).came, Came::filled);  // as it came
  EXPECT_EQ(w.stripeOf("/1").stats().coding_failures, 1U);
}

TEST(Coded, AnUncompressedAnswerThatIsNotStoredStaysAsItIs) {
  CacheWorld w(5, compressing(), sim::Options());
  Answer answer = text(5000);
  answer.head.replace(answer.head.find("max-age=1000"), 12, "private     ");
  w.setScript(always(answer));
  const Got got = w.get(wanting("gzip"));
  EXPECT_EQ(got.came, Came::filled);
  EXPECT_FALSE(got.stored);
  EXPECT_EQ(got.bytes, 5000U);
  EXPECT_EQ(got.head.find("Vary"), std::string::npos);
  EXPECT_EQ(w.stripeOf("/1").stats().compressed, 0U);
}

// What grows past the limit while it is compressed reaches its client whole.
TEST(Coded, WhatIsTooLongStillArrives) {
  CacheWorld::Cut cut = compressing();
  cut.max_object_bytes = 20 * kKiB;
  CacheWorld w(6, cut, sim::Options());
  const Answer answer = text(3000 * kKiB);
  w.setScript(always(answer));
  const Got got = w.get(wanting("gzip"));
  EXPECT_EQ(got.came, Came::filled);
  EXPECT_EQ(decoded(policy::Coding::gzip, got.coded), plain(1, answer.bytes));
  EXPECT_EQ(w.get(wanting("gzip")).came, Came::filled);
}

TEST(Coded, TheLimitOfCodersHolds) {
  CacheWorld w(7, compressing(), sim::Options());
  Answer answer = text(200 * kKiB);
  answer.piece_delay_ns = 10 * base::kMillisecond_ns;
  w.setScript(always(answer));
  std::deque<Got> gots(Stripe::kMaxCoders);
  for (size_t i = 0; i < gots.size(); i++) {
    w.start(0, wanting("gzip", "/" + std::to_string(i)), &gots[i]);
  }
  ASSERT_TRUE(w.run([&] { return w.inFlight() == gots.size(); }));
  const StripeStats& stats = w.stripeOf("/1").stats();
  ASSERT_TRUE(w.run([&] { return stats.compressed == gots.size(); }));
  EXPECT_EQ(stats.coders_refused, 0U);
  Got more;
  w.start(0, wanting("gzip", "/more"), &more);
  ASSERT_TRUE(w.run([&] { return stats.coders_refused == 1; }));
  Answer coded = answer;
  coded.head += "Content-Encoding: br\r\n";
  w.setScript(always(coded));
  Got other;
  w.start(0, {.path = "/other"}, &other);
  w.finish();
  for (const Got& got : gots) {
    EXPECT_EQ(decoded(policy::Coding::gzip, got.coded), plain(1, answer.bytes));
  }
  EXPECT_EQ(stats.coders_refused, 2U);
  EXPECT_TRUE(more.stored);  // as it came
  EXPECT_EQ(more.bytes, answer.bytes);
  EXPECT_NE(more.head.find("Vary: Accept-Encoding"), std::string::npos);
  EXPECT_FALSE(other.stored);  // its client does not accept that, but others of the key might
  EXPECT_EQ(other.coded, plain(1, answer.bytes));
  w.setScript(always(answer));
  EXPECT_FALSE(w.get(wanting("gzip", "/again")).coded.empty());
  EXPECT_EQ(stats.compressed, gots.size() + 1);
}

TEST(Coded, ARevalidationAsksWithTheOriginsTagAndKeepsTheBody) {
  CacheWorld w(8, compressing(), sim::Options());
  Answer answer = text(40 * kKiB);
  answer.head.replace(answer.head.find("max-age=1000"), 12, "max-age=1   ");
  Answer unchanged;
  unchanged.head =
      "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=1000\r\nETag: \"v\"\r\n"
      "Repr-Digest: x\r\n";
  unchanged.bytes = 0;
  std::string asked_with;
  w.setScript([&](const FetchPlan& plan, uint64_t) {
    asked_with = plan.validators.etag;
    return asked_with.empty() ? answer : unchanged;
  });
  const Got first = w.get(wanting("zstd"));
  w.runFor(3 * base::kSecond_ns);
  const Got second = w.get(wanting("zstd"));
  EXPECT_EQ(asked_with, "\"v\"");
  EXPECT_EQ(second.came, Came::hit);
  EXPECT_EQ(second.coded, first.coded);
  EXPECT_NE(second.head.find("ETag: W/\"v\"\r\n"), std::string::npos);
  EXPECT_NE(second.head.find("Content-Encoding: zstd\r\n"), std::string::npos);
  EXPECT_NE(second.head.find("max-age=1000"), std::string::npos);
  EXPECT_EQ(second.head.find("Repr-Digest"), std::string::npos);
  EXPECT_EQ(w.fetches(), 2U);
  w.forgetMemory();
  EXPECT_EQ(w.get(wanting("zstd")).coded, first.coded);
}

}  // namespace
}  // namespace cache
