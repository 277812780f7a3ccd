// Goal: whatever bytes an origin answers with, an exchange ends with the same outcome however the
// bytes are cut on their way, delivers nothing but what they say, and leaves nothing behind.
// Method: the first byte chooses the method and the size of reads, the rest is the response, after
// which the origin closes; two simulated networks that cut it differently must agree.
#include <cstdlib>
#include <string>

#include "source/base/check.h"
#include "test/upstream/fixture.h"

namespace upstream {
namespace {

class Harness : public Fixture {
 public:
  Harness(uint64_t seed, const sim::Options& options) : Fixture(seed, options) {}
  void TestBody() override {}

  struct Outcome {
    Reason reason;
    base::Code failed;
    uint16_t status;
    std::string body;
    bool complete;
    base::Code body_failed;
    std::string trailer;
  };
  Outcome run(uint8_t choice, std::string bytes) {
    origin().serve({{request(), send(std::move(bytes)), closing()}});
    Call c;
    c.method = (choice & 1) != 0 ? "HEAD" : "GET";
    c.read_bytes = 1 + (choice >> 1) * 7;
    const Answer& answer = call(c);
    CHECK(answer.done);
    CHECK(answer.attempts == 1);
    Outcome outcome{answer.failure.reason, answer.failure.error.code, answer.status, answer.body,
                    answer.complete,       answer.body_error.code,    answer.trailer};
    finish();
    return outcome;
  }
};

sim::Options network(uint32_t fragment) {
  sim::Options options;
  options.network.fragment = fragment;
  options.network.short_read = fragment;
  options.network.slow_accept = 0;
  options.network.window_min = 1 << 20;
  options.network.window_max = 1 << 20;
  return options;
}

}  // namespace
}  // namespace upstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 40000) {
    return 0;
  }
  const uint8_t choice = data[0];
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  upstream::Harness whole(1, upstream::network(0));
  upstream::Harness cut(size, upstream::network(700'000));
  const auto a = whole.run(choice, bytes);
  const auto b = cut.run(choice, bytes);
  CHECK(a.reason == b.reason);
  CHECK(a.failed == b.failed);
  if (a.reason != upstream::Reason::none) {
    return 0;
  }
  CHECK(a.status == b.status);
  CHECK(a.complete == b.complete);
  CHECK(a.body_failed == b.body_failed);
  CHECK(a.body.size() <= bytes.size());
  if (a.complete) {
    CHECK(a.body == b.body);
    CHECK(a.trailer == b.trailer);
  }
  return 0;
}
