// Goal: the epoll engine keeps the contract of all engines, and what is its own: where file
// operations go, and how long a descriptor stays registered.
// Method: the contract's suite on real sockets and files; the engine alone for the rest.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "source/io/epoll/epoll_engine.h"
#include "test/contract/io_engine_contract.h"
#include "test/contract/real_descriptors.h"

namespace contract {
namespace {

std::unique_ptr<io::EventDoorbells> makeDoorbells(uint16_t shards) {
  auto made = io::EventDoorbells::create(shards);
  CHECK(made.ok());
  return std::move(made.value());
}

std::unique_ptr<io::EpollEngine> makeEngine(base::ShardId shard,
                                            const io::EventDoorbells& doorbells) {
  auto made = io::EpollEngine::create(io::EpollOptions{}, shard, doorbells);
  CHECK(made.ok());
  return std::move(made.value());
}

class EpollRig : public RealDescriptors {
 public:
  EpollRig() {
    for (uint16_t i = 0; i < 2; i++) {
      engines_[i] = makeEngine(base::ShardId{i}, *doorbells_);
    }
  }
  rt::IoEngine& engine(uint16_t shard) override { return *engines_[shard]; }

 private:
  std::unique_ptr<io::EventDoorbells> doorbells_ = makeDoorbells(2);
  std::unique_ptr<io::EpollEngine> engines_[2];
};

class EpollThreads : public Threads {
 public:
  explicit EpollThreads(uint16_t shards) : doorbells_(makeDoorbells(shards)) {}
  std::unique_ptr<rt::IoEngine> make(base::ShardId shard) override {
    return makeEngine(shard, *doorbells_);
  }

 private:
  std::unique_ptr<io::EventDoorbells> doorbells_;
};

std::unique_ptr<Rig> makeRig() {
  return std::make_unique<EpollRig>();
}
std::unique_ptr<Threads> makeThreads(uint16_t shards) {
  return std::make_unique<EpollThreads>(shards);
}

std::string nameOf(const testing::TestParamInfo<EngineCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Epoll, IoEngineContract,
                         testing::Values(EngineCase{"epoll", makeRig, makeThreads}), nameOf);

class EpollEngineTest : public testing::Test {
 protected:
  int32_t run(rt::Op& op) {
    engine_->prepare(op);
    return await(op);
  }
  int32_t await(rt::Op& op) {
    const base::MonoTime deadline = engine_->monotonic() + 10 * base::kSecond_ns;
    rt::OpList list;
    while (op.state != rt::Op::State::done && engine_->monotonic() < deadline) {
      engine_->enter(deadline, list);
    }
    CHECK(op.state == rt::Op::State::done);
    return op.result;
  }
  void poke() {
    rt::OpList list;
    engine_->enter(base::MonoTime{0}, list);
  }
  // A connection of which the engine accepted the server's end.
  void connect(int& client, int& server) {
    sockaddr_in address{};
    const int listener = real_.listen(address);
    client = real_.socket();
    CHECK(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    rt::Op accept;
    setAccept(accept, listener);
    server = run(accept);
    CHECK(server >= 0);
    real_.close(listener);
  }

  std::unique_ptr<io::EventDoorbells> doorbells_ = makeDoorbells(1);
  std::unique_ptr<io::EpollEngine> engine_ = makeEngine(base::ShardId{0}, *doorbells_);
  EpollRig real_;
};

std::string temporaryPath() {
  const char* directory = std::getenv("TEST_TMPDIR");
  return std::string(directory == nullptr ? "/tmp" : directory) + "/epoll.XXXXXX";
}

TEST_F(EpollEngineTest, DirectReadsAndWritesGoThroughKernelAio) {
  std::string path = temporaryPath();
  const int fd = mkostemp(path.data(), O_CLOEXEC | O_DIRECT);
  unlink(path.c_str());
  if (fd < 0) {
    GTEST_SKIP() << "this file system has no direct I/O";
  }
  constexpr size_t kBytes = 8192;
  auto* bytes = static_cast<char*>(std::aligned_alloc(4096, 2 * kBytes));
  for (size_t i = 0; i < kBytes; i++) {
    bytes[i] = static_cast<char>(i * 131 >> 5);
  }
  const uint64_t enters = engine_->stats().enters;
  rt::Op op;
  setFile(op, rt::OpKind::write, fd, bytes, kBytes, 4096);
  EXPECT_EQ(run(op), static_cast<int32_t>(kBytes));
  EXPECT_GE(engine_->stats().enters, enters + 2);  // one of them is an io_submit
  setFile(op, rt::OpKind::read, fd, bytes + kBytes, kBytes, 4096);
  EXPECT_EQ(run(op), static_cast<int32_t>(kBytes));
  EXPECT_EQ(std::string_view(bytes, kBytes), std::string_view(bytes + kBytes, kBytes));
  setPlain(op, rt::OpKind::fsync, fd);
  EXPECT_EQ(run(op), 0);
  std::free(bytes);
  real_.close(fd);
}

// More than the kernel takes at once: the rest waits in the queue, and each ends once.
TEST_F(EpollEngineTest, MoreDirectReadsThanEntriesAllEnd) {
  std::string path = temporaryPath();
  const int fd = mkostemp(path.data(), O_CLOEXEC | O_DIRECT);
  unlink(path.c_str());
  if (fd < 0) {
    GTEST_SKIP() << "this file system has no direct I/O";
  }
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  for (const size_t count : {size_t{io::kDefaultAioEntries}, size_t{io::kDefaultAioEntries} + 1,
                             size_t{3 * io::kDefaultAioEntries}}) {
    auto* bytes = static_cast<char*>(std::aligned_alloc(4096, 4096 * count));
    std::vector<std::unique_ptr<rt::Op>> ops;
    for (size_t i = 0; i < count; i++) {
      ops.push_back(std::make_unique<rt::Op>());
      setFile(*ops[i], rt::OpKind::read, fd, bytes + 4096 * i, 4096, 0);
      engine_->prepare(*ops[i]);
    }
    for (const std::unique_ptr<rt::Op>& op : ops) {
      EXPECT_EQ(await(*op), 4096);
    }
    EXPECT_EQ(engine_->stats().in_flight, 0U);
    std::free(bytes);
  }
  real_.close(fd);
}

// What still waits for a place in the kernel ends at once; the others with their own result.
TEST_F(EpollEngineTest, CancelledDirectReadsEndOnce) {
  std::string path = temporaryPath();
  const int fd = mkostemp(path.data(), O_CLOEXEC | O_DIRECT);
  unlink(path.c_str());
  if (fd < 0) {
    GTEST_SKIP() << "this file system has no direct I/O";
  }
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  constexpr size_t kCount = 2 * io::kDefaultAioEntries;
  auto* bytes = static_cast<char*>(std::aligned_alloc(4096, 4096 * kCount));
  std::vector<std::unique_ptr<rt::Op>> ops;
  for (size_t i = 0; i < kCount; i++) {
    ops.push_back(std::make_unique<rt::Op>());
    setFile(*ops[i], rt::OpKind::read, fd, bytes + 4096 * i, 4096, 0);
    engine_->prepare(*ops[i]);
  }
  poke();
  size_t under_way = 0;
  for (const std::unique_ptr<rt::Op>& op : ops) {
    under_way += op->state != rt::Op::State::done ? 1 : 0;
    engine_->cancel(*op);
  }
  EXPECT_GE(under_way, kCount - io::kDefaultAioEntries);
  size_t cancelled = 0;
  for (const std::unique_ptr<rt::Op>& op : ops) {
    const int32_t result = await(*op);
    EXPECT_TRUE(result == 4096 || result == -ECANCELED) << result;
    cancelled += result == -ECANCELED ? 1 : 0;
  }
  EXPECT_LE(cancelled, under_way);
  EXPECT_GT(cancelled, 0U);
  EXPECT_EQ(engine_->stats().completions, engine_->stats().submissions);
  std::free(bytes);
  real_.close(fd);
}

TEST_F(EpollEngineTest, AppendsToARegularFileKeepTheirOrder) {
  std::string path = temporaryPath();
  const int fd = mkostemp(path.data(), O_CLOEXEC | O_APPEND);
  ASSERT_GE(fd, 0);
  unlink(path.c_str());
  std::string expected;
  std::vector<std::string> pieces;
  for (int i = 0; i < 100; i++) {
    pieces.push_back(std::to_string(i) + "\n");
    expected += pieces.back();
  }
  std::vector<std::unique_ptr<rt::Op>> ops;
  for (std::string& piece : pieces) {
    ops.push_back(std::make_unique<rt::Op>());
    setFile(*ops.back(), rt::OpKind::write, fd, piece.data(), piece.size(), rt::kStreamOffset);
    engine_->prepare(*ops.back());
  }
  for (size_t i = 0; i < ops.size(); i++) {
    EXPECT_EQ(await(*ops[i]), static_cast<int32_t>(pieces[i].size()));
  }
  std::string got(expected.size() + 1, '\0');
  EXPECT_EQ(pread(fd, got.data(), got.size(), 0), static_cast<ssize_t>(expected.size()));
  got.resize(expected.size());
  EXPECT_EQ(got, expected);
  real_.close(fd);
}

TEST_F(EpollEngineTest, AFullPipeIsWaitedFor) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  std::string much(1 << 20, 'x');
  rt::Op write;
  setFile(write, rt::OpKind::write, ends[1], much.data(), much.size(), rt::kStreamOffset);
  const int32_t first = run(write);  // what the pipe holds
  ASSERT_GT(first, 0);
  ASSERT_LT(first, static_cast<int32_t>(much.size()));
  engine_->prepare(write);
  poke();
  EXPECT_NE(write.state, rt::Op::State::done);
  std::string got(static_cast<size_t>(first), '\0');
  EXPECT_EQ(::read(ends[0], got.data(), got.size()), first);
  EXPECT_GT(await(write), 0);
  real_.close(ends[0]);
  real_.close(ends[1]);
}

// A number that was a connection's, and is another connection's now, is waited for anew.
TEST_F(EpollEngineTest, ADescriptorsNumberIsUsedAgain) {
  int numbers[2] = {-1, -1};
  for (int round = 0; round < 3; round++) {
    int client = -1;
    int server = -1;
    connect(client, server);
    if (round > 0) {
      EXPECT_EQ(client, numbers[0]);
      EXPECT_EQ(server, numbers[1]);
    }
    numbers[0] = client;
    numbers[1] = server;
    char byte = 0;
    rt::Op recv;
    setRecv(recv, server, &byte, 1);
    engine_->prepare(recv);
    poke();
    EXPECT_NE(recv.state, rt::Op::State::done);
    EXPECT_EQ(::send(client, "x", 1, 0), 1);
    EXPECT_EQ(await(recv), 1);
    real_.close(client);
    if (round == 0) {
      real_.close(server);  // behind the engine's back
    } else {
      rt::Op close;
      setPlain(close, rt::OpKind::close, server);
      EXPECT_EQ(run(close), 0);
    }
  }
}

TEST_F(EpollEngineTest, OneDescriptorWaitsForBothSides) {
  int client = -1;
  int server = -1;
  connect(client, server);
  const std::string much(8 << 20, 'y');
  rt::Op send;
  setSend(send, server, much.data(), much.size());
  char byte = 0;
  rt::Op recv;
  setRecv(recv, server, &byte, 1);
  rt::Op poll;
  setPoll(poll, server, POLLIN | POLLOUT);
  engine_->prepare(send);
  engine_->prepare(recv);
  engine_->prepare(poll);
  poke();
  EXPECT_NE(poll.state, rt::Op::State::done);
  EXPECT_EQ(::send(client, "x", 1, 0), 1);
  EXPECT_EQ(await(recv), 1);
  size_t got = 0;
  std::string to(1 << 20, '\0');
  while (got < much.size()) {
    const ssize_t part = ::recv(client, to.data(), to.size(), MSG_DONTWAIT);
    got += part > 0 ? static_cast<size_t>(part) : 0;
    poke();
  }
  EXPECT_EQ(await(send), static_cast<int32_t>(much.size()));
  EXPECT_GT(await(poll), 0);
  EXPECT_GT(engine_->stats().short_transfers, 0U);
  real_.close(client);
  rt::Op close;
  setPlain(close, rt::OpKind::close, server);
  EXPECT_EQ(run(close), 0);
}

TEST_F(EpollEngineTest, ClosingEndsWhatWaits) {
  int client = -1;
  int server = -1;
  connect(client, server);
  char byte = 0;
  rt::Op recv;
  setRecv(recv, server, &byte, 1);
  engine_->prepare(recv);
  poke();
  rt::Op close;
  setPlain(close, rt::OpKind::close, server);
  EXPECT_EQ(run(close), 0);
  EXPECT_EQ(await(recv), -ECANCELED);
  real_.close(client);
}

// No room for descriptors is an error of the start, not a crash.
TEST(EpollStart, WithoutDescriptorsItSaysWhy) {
  const std::unique_ptr<io::EventDoorbells> doorbells = makeDoorbells(1);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  auto engine = io::EpollEngine::create(io::EpollOptions{}, base::ShardId{0}, *doorbells);
  auto more = io::EventDoorbells::create(1);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().sys, EMFILE);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().sys, EMFILE);
}

}  // namespace
}  // namespace contract
