// The contract's clauses about files and events.
#include <poll.h>

#include <cerrno>
#include <cstring>

#include "source/rt/buffer_pool.h"
#include "test/contract/io_engine_contract.h"

namespace contract {
namespace {

TEST_P(IoEngineContract, FilesAreReadAndWrittenAtAnOffset) {
  const int fd = rig_->file();
  std::string text = "0123456789";
  rt::Op op;
  setFile(op, rt::OpKind::write, fd, text.data(), 10, 5000);
  EXPECT_EQ(run(op), 10);
  char to[4] = {};
  setFile(op, rt::OpKind::read, fd, to, 4, 5003);
  EXPECT_EQ(run(op), 4);
  EXPECT_EQ(std::string_view(to, 4), "3456");
  setFile(op, rt::OpKind::read, fd, to, 4, 100);
  EXPECT_EQ(run(op), 4);
  EXPECT_EQ(std::string_view(to, 4), std::string_view("\0\0\0\0", 4));  // the hole before
  rig_->close(fd);
}

TEST_P(IoEngineContract, ReadingPastTheEndIsShort) {
  const int fd = rig_->file();
  std::string text = "0123456789";
  rt::Op op;
  setFile(op, rt::OpKind::write, fd, text.data(), 10, 0);
  EXPECT_EQ(run(op), 10);
  char to[100] = {};
  setFile(op, rt::OpKind::read, fd, to, 100, 6);
  EXPECT_EQ(run(op), 4);
  setFile(op, rt::OpKind::read, fd, to, 100, 10);
  EXPECT_EQ(run(op), 0);
  setFile(op, rt::OpKind::read, fd, to, 100, 1'000'000);
  EXPECT_EQ(run(op), 0);
  rig_->close(fd);
}

TEST_P(IoEngineContract, FsyncSucceedsOnAFile) {
  const int fd = rig_->file();
  char byte = 'x';
  rt::Op op;
  setFile(op, rt::OpKind::write, fd, &byte, 1, 0);
  EXPECT_EQ(run(op), 1);
  rt::Op sync;
  setPlain(sync, rt::OpKind::fsync, fd);
  EXPECT_EQ(run(sync), 0);
  rig_->close(fd);
}

// Whether the engine keeps it ready or not, a registered file is the one that its descriptor names,
// also when the number has come to mean another file.
TEST_P(IoEngineContract, ARegisteredFileIsTheOneThatIsNamed) {
  for (char round = '1'; round <= '3'; round++) {
    const int fd = rig_->file();
    engine().registerFile(fd);
    engine().registerFile(fd);
    rt::Op op;
    setFile(op, rt::OpKind::write, fd, &round, 1, 0);
    EXPECT_EQ(run(op), 1);
    setPlain(op, rt::OpKind::fsync, fd);
    EXPECT_EQ(run(op), 0);
    char to[2] = {};
    setFile(op, rt::OpKind::read, fd, to, 2, 0);
    EXPECT_EQ(run(op), 1) << "it was empty";
    EXPECT_EQ(to[0], round);
    engine().releaseFile(fd);
    engine().releaseFile(fd);
    setFile(op, rt::OpKind::read, fd, to, 2, 0);
    EXPECT_EQ(run(op), 1);
    rig_->close(fd);
  }
  EXPECT_EQ(engine().stats().files_registered, 0U);
}

TEST_P(IoEngineContract, FixedOperationsUseTheRegisteredRegion) {
  rt::BufferPool pool(2 << 20);
  ASSERT_TRUE(pool.ok());
  if (!engine().registerRegion(pool.region())) {
    GTEST_SKIP() << "this engine has no registered regions here";
  }
  const int fd = rig_->file();
  rt::Buffer from = pool.tryTake(65536);
  rt::Buffer to = pool.tryTake(65536);
  for (size_t i = 0; i < from.size(); i++) {
    from.span()[i] = static_cast<std::byte>(i * 31 >> 3);
  }
  rt::Op op;
  setFile(op, rt::OpKind::write, fd, from.data(), from.size(), 4096);
  op.fixed = true;
  EXPECT_EQ(run(op), int32_t{65536});
  setFile(op, rt::OpKind::read, fd, to.data(), to.size(), 4096);
  EXPECT_EQ(run(op), int32_t{65536});
  EXPECT_EQ(std::memcmp(from.data(), to.data(), from.size()), 0);
  char outside = 0;
  setFile(op, rt::OpKind::read, fd, &outside, 1, 0);
  EXPECT_LT(run(op), 0);
  from.reset();
  to.reset();
  rig_->close(fd);
  rig_.reset();
}

TEST_P(IoEngineContract, PollWaitsForAnEvent) {
  const int fd = rig_->event();
  rt::Op op;
  setPoll(op, fd, POLLIN);
  engine().prepare(op);
  EXPECT_EQ(poke(), 0U);
  rig_->signal(fd, 3);
  EXPECT_EQ(await(op), POLLIN);
  uint64_t count = 0;
  rt::Op read;
  setFile(read, rt::OpKind::read, fd, &count, sizeof count, rt::kStreamOffset);
  EXPECT_EQ(run(read), 8);
  EXPECT_EQ(count, 3U);
  rig_->close(fd);
}

TEST_P(IoEngineContract, ReadingAnEventWaitsForIt) {
  const int fd = rig_->event();
  uint64_t count = 0;
  rt::Op read;
  setFile(read, rt::OpKind::read, fd, &count, sizeof count, rt::kStreamOffset);
  engine().prepare(read);
  EXPECT_EQ(poke(), 0U);
  rig_->signal(fd, 7);
  EXPECT_EQ(await(read), 8);
  EXPECT_EQ(count, 7U);
  rig_->close(fd);
}

TEST_P(IoEngineContract, PollSeesReadableAndWritableSockets) {
  const Pair pair = connect();
  rt::Op writable;
  setPoll(writable, pair.client, POLLOUT);
  EXPECT_EQ(run(writable), POLLOUT);
  rt::Op readable;
  setPoll(readable, pair.server, POLLIN);
  engine().prepare(readable);
  EXPECT_EQ(poke(), 0U);
  EXPECT_EQ(send(pair.client, "x"), 1);
  EXPECT_EQ(await(readable), POLLIN);
  rig_->close(pair.client);
  rig_->close(pair.server);
}

}  // namespace
}  // namespace contract
