// Goal: whatever the network does, a request ends once, with the whole right answer or an error; no
// body is delivered short as a success; a request that is not idempotent reaches the origin at most
// once; nothing is left at the end.
// Method: random calls from many clients at an origin that answers in every framing, under seeds
// that draw resets, refusals, black holes, tiny windows and latencies; the body of each answer is a
// function of the request's number. A failing seed is named in the output.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include "test/upstream/fixture.h"

namespace upstream {
namespace {

constexpr uint32_t kRequests = 40;

std::string bodyFor(uint32_t number) {
  base::Random random(number);
  const size_t size = random.chance(1, 3) ? random.below(30) : random.below(40000);
  std::string body(size, '\0');
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    const uint64_t word = random.next();
    std::memcpy(body.data() + at, &word, std::min(sizeof(word), size - at));
  }
  return body;
}

std::string chunked(const std::string& body, base::Random& random) {
  std::string out;
  for (size_t at = 0; at < body.size();) {
    const size_t n = std::min<size_t>(body.size() - at, 1 + random.below(5000));
    char size[24];
    const int written = snprintf(size, sizeof(size), "%zx\r\n", n);
    out.append(size, static_cast<size_t>(written));
    out += body.substr(at, n) + "\r\n";
    at += n;
  }
  return out + "0\r\n\r\n";
}

std::string answerFor(uint32_t number) {
  base::Random random(number + 1000);
  const std::string body = bodyFor(number);
  const std::string interim = random.chance(1, 5) ? "HTTP/1.1 103 Early Hints\r\n\r\n" : "";
  switch (random.below(3)) {
    case 0:
      return interim + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
             chunked(body, random);
    case 1:
      return interim + "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + body;
    default:
      return interim + ok(body);
  }
}

class SwarmTest : public Fixture, public testing::WithParamInterface<uint64_t> {
 protected:
  SwarmTest() : Fixture(GetParam(), sim::Options::fromSeed(GetParam())) {}
};

TEST_P(SwarmTest, EveryRequestEndsRight) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  base::Random random(GetParam());
  spec_ = spec({80, 81});
  spec_.connect_timeout_ms = 2000;
  spec_.max_connections = static_cast<uint32_t>(random.between(1, 8));
  spec_.max_requests_per_connection = static_cast<uint32_t>(random.below(5));
  spec_.idle_timeout_ms = static_cast<uint32_t>(random.between(1, 2000));
  spec_.lb_policy = random.chance(1, 2) ? LbPolicy::round_robin : LbPolicy::least_request;
  for (const uint16_t port : {80, 81}) {
    origin(port).answerByNumber(answerFor);
  }
  std::vector<std::unique_ptr<MemoryBody>> bodies;
  std::vector<Answer*> answers;
  std::map<uint32_t, bool> is_post;
  for (uint32_t number = 0; number < kRequests; number++) {
    Call c;
    c.timeouts.response_ms = 5000;
    c.timeouts.deadline = world_.now() + 20 * base::kSecond_ns;
    c.read_bytes = 1 + random.below(20000);
    const bool post = random.chance(1, 3);
    is_post[number] = post;
    c.method = post ? "POST" : "GET";
    c.head = c.method + " /" + std::to_string(number) + " HTTP/1.1\r\nHost: a\r\n";
    if (post) {
      const std::string sent = bodyFor(number + 500);
      bodies.push_back(std::make_unique<MemoryBody>(std::vector<MemoryBody::Piece>{
          {sent.substr(0, sent.size() / 2), random.below(3) * base::kMillisecond_ns},
          {sent.substr(sent.size() / 2)}}));
      c.body = bodies.back().get();
      if (random.chance(1, 2)) {
        c.body_bytes = sent.size();
        c.head += "Content-Length: " + std::to_string(sent.size()) + "\r\n";
      } else {
        c.head += "Transfer-Encoding: chunked\r\n";
      }
    }
    c.head += "\r\n";
    answers.push_back(&start(std::move(c)));
    if (random.chance(1, 2)) {
      runFor(random.below(50));
    }
    if (random.chance(1, 12)) {
      answers[random.below(answers.size())]->scope->request();
    }
  }
  for (uint32_t number = 0; number < kRequests; number++) {
    const Answer& answer = await(*answers[number]);
    if (answer.complete) {
      EXPECT_TRUE(answer.body == bodyFor(number)) << number;
    } else {
      EXPECT_TRUE(answer.failure || answer.body_error.code != base::Code::ok) << number;
    }
    EXPECT_LE(answer.attempts, 3U);
    if (is_post[number]) {
      EXPECT_LE(origin(80).reached(number) + origin(81).reached(number), 1U) << number;
    }
  }
  EXPECT_EQ(cluster().gauges().rq_active, 0U);
  EXPECT_EQ(cluster().gauges().rq_pending_active, 0U);
  world_.calm();
}

INSTANTIATE_TEST_SUITE_P(Seeds, SwarmTest, testing::Range<uint64_t>(1, 101));

}  // namespace
}  // namespace upstream
