// Goal: a stream delivers and sends bytes whole, ends, stops and resets as it says, and blames the
// right side. Method: TCP connections over loopback; the other end is a plain socket that the test
// reads and writes itself, or a second stream where both sides must run at once.

#include "source/net/stream.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "test/net/loop.h"

namespace net {
namespace {

constexpr uint64_t kGenerous_ms = 30000;

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

class StreamTest : public LoopTest {
 protected:
  using LoopTest::LoopTest;

  Stream streamOver(int fd, base::Blame peer = base::Blame::downstream) {
    return Stream(*pool_, sockets_, fd, peer);
  }
  static void put(int fd, std::string_view text) {
    ASSERT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Everything up to the end; "reset" if it ended with one.
  static std::string getAll(int fd) {
    std::string all;
    char part[65536];
    while (true) {
      const ssize_t n = recv(fd, part, sizeof(part), 0);
      if (n <= 0) {
        return n == 0 ? all : "reset";
      }
      all.append(part, static_cast<size_t>(n));
    }
  }
  void closeNow(Stream& stream) { run(stream.close()); }
};

rt::Task<void> readAll(Stream& stream, rt::CancelScope& scope, base::MonoTime deadline,
                       std::string& all, std::optional<base::Error>& error) {
  while (true) {
    base::Result<rt::ReceiveBuffer> buffer = co_await stream.read(scope, deadline);
    if (!buffer.ok()) {
      error = buffer.error();
      co_return;
    }
    if (!buffer.value()) {
      co_return;
    }
    const std::span<std::byte> bytes = buffer.value().bytes();
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
}

rt::Task<void> readInto(Stream& stream, std::span<std::byte> to, rt::CancelScope& scope,
                        base::MonoTime deadline, base::Result<uint32_t>& result) {
  result = co_await stream.readInto(to, scope, deadline);
}

rt::Task<void> writeAndEnd(Stream& stream, std::span<const std::byte> bytes, rt::CancelScope& scope,
                           base::MonoTime deadline, base::Status& status) {
  status = co_await stream.write(bytes, scope, deadline);
  co_await stream.shutdownWrite(scope);
}

rt::Task<void> writePieces(Stream& stream, std::span<iovec> pieces, rt::CancelScope& scope,
                           base::MonoTime deadline, base::Status& status) {
  status = co_await stream.writev(pieces, scope, deadline);
  co_await stream.shutdownWrite(scope);
}

// Writes until something stops it.
rt::Task<void> writeForever(Stream& stream, std::span<const std::byte> bytes,
                            rt::CancelScope& scope, base::MonoTime deadline, base::Status& status) {
  while (status.ok()) {
    status = co_await stream.write(bytes, scope, deadline);
  }
}

TEST_F(StreamTest, ReadsWhatArrivesAndThenTheEnd) {
  const Pair pair = connectPair();
  Stream stream = streamOver(pair.a);
  put(pair.b, "hello");
  shutdown(pair.b, SHUT_WR);
  std::string all;
  std::optional<base::Error> error;
  run(readAll(stream, scope_, in(kGenerous_ms), all, error));
  EXPECT_FALSE(error);
  EXPECT_EQ(all, "hello");
  EXPECT_EQ(stream.bytesIn(), 5u);
  EXPECT_EQ(pool_->inUse(), 0u);
  closeNow(stream);
  close(pair.b);
}

TEST_F(StreamTest, ReadsIntoMemoryNoMoreThanFits) {
  const Pair pair = connectPair();
  Stream stream = streamOver(pair.a);
  put(pair.b, "abcdef");
  std::byte memory[4];
  base::Result<uint32_t> result(uint32_t{0});
  run(readInto(stream, memory, scope_, in(kGenerous_ms), result));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value(), 4u);
  EXPECT_EQ(memcmp(memory, "abcd", 4), 0);
  run(readInto(stream, memory, scope_, in(kGenerous_ms), result));
  EXPECT_EQ(result.value(), 2u);
  shutdown(pair.b, SHUT_WR);
  run(readInto(stream, memory, scope_, in(kGenerous_ms), result));
  EXPECT_EQ(result.value(), 0u);
  EXPECT_EQ(stream.bytesIn(), 6u);
  closeNow(stream);
  close(pair.b);
}

TEST_F(StreamTest, SendsMoreThanSocketsBufferWhileThePeerReads) {
  const Pair pair = connectPair();
  Stream writer = streamOver(pair.a);
  Stream reader = streamOver(pair.b);
  std::string sent(8 << 20, '\0');
  for (size_t i = 0; i < sent.size(); i++) {
    sent[i] = static_cast<char>(i * 31 + (i >> 12));
  }
  std::string got;
  base::Status status{base::Unit{}};
  std::optional<base::Error> error;
  run(writeAndEnd(writer, bytesOf(sent), scope_, in(kGenerous_ms), status),
      readAll(reader, scope_, in(kGenerous_ms), got, error));
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(error);
  EXPECT_TRUE(got == sent);
  EXPECT_EQ(writer.bytesOut(), sent.size());
  EXPECT_EQ(reader.bytesIn(), sent.size());
  closeNow(writer);
  closeNow(reader);
}

TEST_F(StreamTest, SendsAnyNumberOfPiecesInOrder) {
  for (const size_t count : {size_t{0}, size_t{1}, Stream::kPieces_per_call,
                             Stream::kPieces_per_call + 1, size_t{2500}}) {
    const Pair pair = connectPair();
    Stream writer = streamOver(pair.a);
    Stream reader = streamOver(pair.b);
    std::vector<std::string> texts;
    std::string sent;
    for (size_t i = 0; i < count; i++) {
      texts.push_back(i % 7 == 0 ? "" : std::to_string(i) + std::string(i % 2000, 'x'));
      sent += texts.back();
    }
    std::vector<iovec> pieces;
    for (std::string& text : texts) {
      pieces.push_back(iovec{text.data(), text.size()});
    }
    std::string got;
    base::Status status{base::Unit{}};
    std::optional<base::Error> error;
    run(writePieces(writer, pieces, scope_, in(kGenerous_ms), status),
        readAll(reader, scope_, in(kGenerous_ms), got, error));
    EXPECT_TRUE(status.ok()) << count;
    EXPECT_TRUE(got == sent) << count;
    EXPECT_EQ(writer.bytesOut(), sent.size());
    closeNow(writer);
    closeNow(reader);
  }
}

TEST_F(StreamTest, AReadEndsAtItsDeadlineAndTheStreamIsStillGood) {
  const Pair pair = connectPair();
  Stream stream = streamOver(pair.a);
  std::string all;
  std::optional<base::Error> error;
  run(readAll(stream, scope_, in(3), all, error));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, base::Code::timeout);
  EXPECT_EQ(error->blame, base::Blame::downstream);
  error.reset();
  put(pair.b, "later");
  shutdown(pair.b, SHUT_WR);
  run(readAll(stream, scope_, in(kGenerous_ms), all, error));
  EXPECT_FALSE(error);
  EXPECT_EQ(all, "later");
  closeNow(stream);
  close(pair.b);
}

TEST_F(StreamTest, AReadEndsWhenItsScopeIsCancelled) {
  const Pair pair = connectPair();
  Stream stream = streamOver(pair.a);
  std::string all;
  std::optional<base::Error> error;
  rt::TaskGroup group(*reactor_, 1);
  group.spawn(readAll(stream, scope_, base::kNever, all, error));
  reactor_->runTurn(false);
  EXPECT_FALSE(error);
  scope_.request();
  runUntilEmpty(group);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, base::Code::cancelled);
  rt::CancelScope other;
  run(stream.close());
  close(pair.b);
}

TEST_F(StreamTest, AWriteToAPeerThatDoesNotReadEndsAtItsDeadline) {
  const Pair pair = connectPair();
  Stream stream = streamOver(pair.a);
  const std::string bytes(1 << 20, 'x');
  base::Status status{base::Unit{}};
  run(writeForever(stream, bytesOf(bytes), scope_, in(50), status));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, base::Code::timeout);
  closeNow(stream);
  close(pair.b);
}

TEST_F(StreamTest, ClosingEndsInOrderAndAbortingResets) {
  Pair pair = connectPair();
  Stream orderly = streamOver(pair.a);
  put(pair.a, "part");
  closeNow(orderly);
  EXPECT_FALSE(orderly.isOpen());
  EXPECT_EQ(getAll(pair.b), "part");
  close(pair.b);

  pair = connectPair();
  Stream cut = streamOver(pair.a);
  put(pair.a, "part");
  cut.abort();
  closeNow(cut);
  EXPECT_EQ(getAll(pair.b), "reset");
  close(pair.b);
}

TEST_F(StreamTest, ClosingTwiceIsFine) {
  const Pair pair = connectPair();
  Stream stream = streamOver(pair.a);
  closeNow(stream);
  closeNow(stream);
  close(pair.b);
}

TEST_F(StreamTest, APeerThatWentAwayIsBlamedAndAReusedUpstreamMayBeRetried) {
  const std::pair<base::Blame, base::Retry> rows[] = {
      {base::Blame::downstream, base::Retry::never},
      {base::Blame::upstream, base::Retry::if_reused_connection}};
  for (const auto& [blame, retry] : rows) {
    const Pair pair = connectPair();
    Stream stream = streamOver(pair.a, blame);
    const linger reset{1, 0};
    setsockopt(pair.b, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(pair.b);
    std::string all;
    std::optional<base::Error> error;
    run(readAll(stream, scope_, in(kGenerous_ms), all, error));
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, base::Code::peer_closed);
    EXPECT_EQ(error->sys, ECONNRESET);
    EXPECT_EQ(error->blame, blame);
    EXPECT_EQ(error->retry, retry);
    base::Status status{base::Unit{}};
    run(writeForever(stream, bytesOf("x"), scope_, in(kGenerous_ms), status));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, base::Code::peer_closed);
    EXPECT_EQ(status.error().retry, retry);
    closeNow(stream);
  }
}

TEST_F(StreamTest, AMovedStreamCarriesItsSocketAndCounts) {
  const Pair pair = connectPair();
  Stream first = streamOver(pair.a);
  put(pair.b, "abc");
  std::byte memory[8];
  base::Result<uint32_t> result(uint32_t{0});
  run(readInto(first, memory, scope_, in(kGenerous_ms), result));
  Stream second(std::move(first));
  EXPECT_FALSE(first.isOpen());
  EXPECT_EQ(second.fd(), pair.a);
  EXPECT_EQ(second.bytesIn(), 3u);
  EXPECT_EQ(second.peerAddress(), Address::localOf(pair.b));
  EXPECT_EQ(second.localAddress(), Address::peerOf(pair.b));
  closeNow(second);
  second = streamOver(pair.b);
  closeNow(second);
}

class FewBuffersTest : public StreamTest {
 protected:
  FewBuffersTest() : StreamTest(1) {}
};

rt::Task<void> readOne(Stream& stream, rt::CancelScope& scope, base::MonoTime deadline,
                       std::optional<base::Result<rt::ReceiveBuffer>>& result) {
  result.emplace(co_await stream.read(scope, deadline));
}

TEST_F(FewBuffersTest, AReadWaitsWhileEveryReceiveBufferIsInUse) {
  const Pair first = connectPair();
  const Pair second = connectPair();
  Stream a = streamOver(first.a);
  Stream b = streamOver(second.a);
  put(first.b, "one");
  put(second.b, "two");
  std::optional<base::Result<rt::ReceiveBuffer>> held;
  run(readOne(a, scope_, in(kGenerous_ms), held));
  ASSERT_TRUE(held->ok());
  EXPECT_EQ(pool_->inUse(), 1u);

  std::optional<base::Result<rt::ReceiveBuffer>> waiting;
  rt::TaskGroup group(*reactor_, 1);
  group.spawn(readOne(b, scope_, in(kGenerous_ms), waiting));
  runUntil([this] { return pool_->exhausted() > 0; });
  EXPECT_FALSE(waiting);
  held->value().reset();
  runUntilEmpty(group);
  ASSERT_TRUE(waiting->ok());
  EXPECT_EQ(waiting->value().bytes().size(), 3u);
  EXPECT_EQ(b.bytesIn(), 3u);

  std::optional<base::Result<rt::ReceiveBuffer>> late;
  put(first.b, "x");
  run(readOne(a, scope_, in(5), late));
  EXPECT_EQ(late->error().code, base::Code::timeout);
  waiting.reset();
  closeNow(a);
  closeNow(b);
  close(first.b);
  close(second.b);
}

}  // namespace
}  // namespace net
