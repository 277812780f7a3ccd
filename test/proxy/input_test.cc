// Goal: the unread bytes of a connection are those that were received and not consumed, in order,
// however they were cut. Method: one text through a socket of the simulated network in pieces of
// every size, consumed in random steps, against the text; and no receive buffer is kept for long.
#include "source/proxy/input.h"

#include <gtest/gtest.h>

#include <string>

#include "test/sim/script.h"
#include "test/sim/world.h"

namespace proxy {
namespace {

constexpr base::MonoTime kLong{1000 * base::kSecond_ns};

std::string textOf(size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    text += std::to_string(text.size()) + ",";
  }
  return text;
}

struct Outcome {
  std::string consumed;
  bool agreed = true;  // unread() always was the text's next bytes
  uint32_t most_buffers = 0;
};

rt::Task<void> serve(int listener, rt::ReceivePool& pool, sim::SimWorld& world,
                     rt::CancelScope& scope, const std::string& text, bool greedy, Outcome& out) {
  const rt::IoResult accepted = co_await rt::Accept(listener, scope);
  CHECK(accepted.ok());
  Input input;
  while (true) {
    base::Result<rt::ReceiveBuffer> buffer =
        co_await pool.receive(accepted.result, base::Blame::downstream, scope, base::kNever);
    if (!buffer.ok() || buffer.value().bytes().empty()) {
      break;
    }
    input.append(std::move(buffer.value()));
    out.most_buffers = std::max(out.most_buffers, pool.inUse());
    const std::span<const char> unread = input.unread();
    const std::string_view expected =
        std::string_view(text).substr(out.consumed.size(), unread.size());
    out.agreed = out.agreed && std::string_view(unread.data(), unread.size()) == expected;
    const size_t bytes = greedy ? unread.size() : world.random().below(unread.size() + 1);
    out.consumed.append(unread.data(), bytes);
    input.consume(bytes);
    input.release();
  }
  out.consumed.append(input.unread().data(), input.unread().size());
  input.consume(input.unread().size());
  input.release();
  EXPECT_EQ(pool.inUse(), 0U);
  co_await rt::Close(accepted.result);
  co_await rt::Close(listener);
}

rt::Task<void> say(sim::SimWorld& world, sim::SimHost& host, const std::string& text) {
  const int fd = world.socket(host);
  const int connected = co_await sim::connectTo(fd, 80, host.scope());
  CHECK(connected == 0);
  size_t done = 0;
  while (done < text.size()) {
    const size_t piece = std::min<size_t>(text.size() - done, world.random().below(3000) + 1);
    const int sent =
        co_await sim::sendAll(fd, std::string_view(text).substr(done, piece), host.scope());
    CHECK(sent == static_cast<int>(piece));
    done += piece;
    co_await rt::Sleep(host.reactor().now() + world.random().below(base::kMillisecond_ns),
                       host.scope());
  }
  co_await rt::Close(fd);
}

TEST(Input, IsWhatWasReceivedInAnyFragmentation) {
  for (uint64_t seed = 1; seed <= 40; seed++) {
    sim::Options options;
    options.network.fragment = seed % 2 == 0 ? sim::kAlways : 200'000;
    options.network.short_read = 300'000;
    sim::SimWorld world(seed, options);
    sim::SimHost& server = world.addHost();
    sim::SimHost& client = world.addHost();
    const std::string text = textOf(30'000);
    Outcome out;
    {
      server.reactor();
      rt::ReceivePool pool(server.engine(), 8);
      server.spawn(
          serve(world.listen(server, 80), pool, world, server.scope(), text, seed % 3 == 0, out));
      client.spawn(say(world, client, text));
      ASSERT_EQ(world.runToEnd(server, kLong), sim::Ran::done);
      ASSERT_EQ(world.runToEnd(client, kLong), sim::Ran::done);
    }
    EXPECT_TRUE(out.agreed) << seed;
    EXPECT_EQ(out.consumed, text) << seed;
    EXPECT_LE(out.most_buffers, 1U);
  }
}

TEST(Input, IsEmptyAtFirst) {
  Input input;
  EXPECT_TRUE(input.unread().empty());
  input.release();
  EXPECT_TRUE(input.unread().empty());
}

}  // namespace
}  // namespace proxy
