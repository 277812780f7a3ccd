// The contract's clauses about bytes that go from the page cache to a socket.
#include <poll.h>
#include <signal.h>

#include <cerrno>

#include "test/contract/io_engine_contract.h"

namespace contract {

IoEngineContract::CachedFile IoEngineContract::cachedFile(size_t bytes) {
  signal(SIGPIPE, SIG_IGN);  // sendfile(2) has no flag against it
  CachedFile file;
  file.fd = rig_->file();
  file.text.resize(bytes);
  for (size_t i = 0; i < bytes; i++) {
    file.text[i] = static_cast<char>((i * 2654435761U) >> 24);
  }
  rt::Op op;
  setFile(op, rt::OpKind::write, file.fd, file.text.data(), bytes, 0);
  EXPECT_EQ(run(op), static_cast<int32_t>(bytes));
  std::string read(bytes, ' ');
  setFile(op, rt::OpKind::read, file.fd, read.data(), bytes, 0);
  EXPECT_EQ(run(op), static_cast<int32_t>(bytes));
  EXPECT_TRUE(read == file.text);
  file.mapped = rig_->map(file.fd, 2 * bytes);
  return file;
}

void IoEngineContract::closeAll(const Pair& pair, const CachedFile& file) {
  rig_->close(pair.client);
  rig_->close(pair.server);
  rig_->close(file.fd);
}

void IoEngineContract::setSendFile(rt::Op& op, int fd, const CachedFile& file, uint64_t offset,
                                   size_t length) {
  setFile(op, rt::OpKind::send_file, fd, file.mapped + offset, length, offset);
  op.file = file.fd;
}

namespace {

constexpr size_t kBytes = 512 << 10;

TEST_P(IoEngineContract, SendFileSendsAPart) {
  Pair pair = connect();
  const CachedFile file = cachedFile(kBytes);
  rt::Op op;
  setSendFile(op, pair.client, file, 1000, 3000);
  const int32_t sent = run(op);
  ASSERT_GT(sent, 0);
  ASSERT_LE(sent, 3000);
  EXPECT_TRUE(receive(pair.server, static_cast<size_t>(sent)) ==
              file.text.substr(1000, static_cast<size_t>(sent)));
  closeAll(pair, file);
}

TEST_P(IoEngineContract, SendFileEndsWithTheEnterThatBeginsIt) {
  Pair pair = connect();
  const CachedFile file = cachedFile(kBytes);
  rt::Op op;
  setSendFile(op, pair.client, file, 0, kBytes);
  engine().prepare(op);
  EXPECT_EQ(poke(), 1U);
  EXPECT_EQ(op.state, rt::Op::State::done);
  EXPECT_GT(op.result, 0);
  closeAll(pair, file);
}

// Until the socket is full; then room is waited for; in the end everything has come, once.
TEST_P(IoEngineContract, SendFileTellsThatASocketIsFull) {
  Pair pair = connect();
  const CachedFile file = cachedFile(kBytes);
  constexpr size_t kRounds = 40;  // 20 MiB: more than any socket takes
  std::string expected;
  std::string got;
  size_t full = 0;
  for (size_t round = 0; round < kRounds; round++) {
    for (size_t at = 0; at < kBytes;) {
      rt::Op op;
      setSendFile(op, pair.client, file, at, kBytes - at);
      const int32_t sent = run(op);
      if (sent > 0) {
        expected += file.text.substr(at, static_cast<size_t>(sent));
        at += static_cast<size_t>(sent);
        continue;
      }
      ASSERT_EQ(sent, -EAGAIN);
      full++;
      rt::Op room;
      setPoll(room, pair.client, POLLOUT);
      engine().prepare(room);
      got += receive(pair.server, expected.size() - got.size());
      EXPECT_EQ(await(room), POLLOUT);
    }
  }
  got += receive(pair.server, expected.size() - got.size());
  EXPECT_GT(full, 0U);
  EXPECT_EQ(got.size(), kRounds * kBytes);
  EXPECT_TRUE(got == expected);
  closeAll(pair, file);
}

TEST_P(IoEngineContract, SendFileSendsOnlyWhatIsInMemory) {
  Pair pair = connect();
  const CachedFile file = cachedFile(kBytes);
  rt::Op op;
  setSendFile(op, pair.client, file, kBytes, 4096);  // behind the file's end
  EXPECT_EQ(run(op), -ENODATA);
  setSendFile(op, pair.client, file, kBytes - 4096, 8192);
  EXPECT_EQ(run(op), -ENODATA);
  EXPECT_EQ(send(pair.client, "x"), 1);
  EXPECT_EQ(receive(pair.server, 1), "x");
  closeAll(pair, file);
}

TEST_P(IoEngineContract, SendFileLeavesTheSocketAsItWas) {
  Pair pair = connect();
  const CachedFile file = cachedFile(kBytes);
  rt::Op op;
  setSendFile(op, pair.client, file, 0, 10);
  const int32_t sent = run(op);
  ASSERT_GT(sent, 0);
  char byte = 0;
  rt::Op waits;
  setRecv(waits, pair.client, &byte, 1);
  engine().prepare(waits);
  EXPECT_EQ(poke(), 0U);
  EXPECT_EQ(send(pair.server, "y"), 1);
  EXPECT_EQ(await(waits), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_EQ(send(pair.client, "z"), 1);
  EXPECT_EQ(receive(pair.server, static_cast<size_t>(sent) + 1).back(), 'z');
  closeAll(pair, file);
}

TEST_P(IoEngineContract, SendFileToAClosedPeerFails) {
  Pair pair = connect();
  const CachedFile file = cachedFile(kBytes);
  rig_->closeWithReset(pair.server);
  pair.server = rig_->socket();
  int32_t result = 0;
  for (int i = 0; i < 100 && (result >= 0 || result == -EAGAIN); i++) {
    rt::Op op;
    setSendFile(op, pair.client, file, 0, kBytes);
    result = run(op);
    rt::OpList list;
    engine().enter(engine().monotonic() + base::kMillisecond_ns, list);
  }
  EXPECT_TRUE(result == -EPIPE || result == -ECONNRESET) << result;
  closeAll(pair, file);
}

TEST_P(IoEngineContract, SendFileOfAnUnknownDescriptorFails) {
  Pair pair = connect();
  const CachedFile file = cachedFile(kBytes);
  rt::Op op;
  setSendFile(op, 999'999, file, 0, 10);
  EXPECT_EQ(run(op), -EBADF);
  setSendFile(op, pair.client, file, 0, 10);
  op.file = 999'999;
  EXPECT_EQ(run(op), -EBADF);
  closeAll(pair, file);
}

}  // namespace
}  // namespace contract
