// The contract of rt::IoEngine: what every engine does, whatever does the work underneath. An
// engine's test gives a rig (two engines that know each other's doorbells, and ways to make
// descriptors) and instantiates the suite:
//
//   INSTANTIATE_TEST_SUITE_P(Uring, IoEngineContract, testing::Values(EngineCase{"uring",
//   makeUringRig}));
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <memory>
#include <string>
#include <vector>

#include "source/rt/io_engine.h"

namespace contract {

// Two engines on the calling thread: shard 0 and shard 1.
class Rig {
 public:
  virtual ~Rig() = default;
  virtual rt::IoEngine& engine(uint16_t shard) = 0;
  // A listening TCP socket of shard 0 on the loopback; its address.
  virtual int listen(sockaddr_in& address) = 0;
  // A TCP socket, not connected.
  virtual int socket() = 0;
  // An address where nobody listens.
  virtual sockaddr_in nobody() = 0;
  // An empty regular file, open for reading and writing.
  virtual int file() = 0;
  // Where a mapping of its first bytes begins; not null, and never touched by a test. It lasts as
  // long as the rig.
  virtual std::byte* map(int fd, size_t bytes) = 0;
  // An eventfd, and adding to it.
  virtual int event() = 0;
  virtual void signal(int fd, uint64_t count) = 0;
  // close(2), and the same with a reset of the connection.
  virtual void close(int fd) = 0;
  virtual void closeWithReset(int fd) = 0;
};

// Makes engines on threads of their own, for the tests of doorbells between threads.
class Threads {
 public:
  virtual ~Threads() = default;
  virtual std::unique_ptr<rt::IoEngine> make(
      base::ShardId shard) = 0;  // on the thread that uses it
};

struct EngineCase {
  std::string name;
  std::unique_ptr<Rig> (*rig)() = nullptr;
  std::unique_ptr<Threads> (*threads)(uint16_t shards) =
      nullptr;  // nullptr: engines share one thread
};

class IoEngineContract : public testing::TestWithParam<EngineCase> {
 protected:
  void SetUp() override { rig_ = GetParam().rig(); }
  void TearDown() override { rig_.reset(); }

  rt::IoEngine& engine() { return rig_->engine(0); }
  // Enters until the operation is done, ten seconds at most; its result.
  int32_t await(rt::Op& op);
  // prepare() and await().
  int32_t run(rt::Op& op);
  // One enter that does not wait; how many completed.
  size_t poke();
  // Two ends of one connection.
  struct Pair {
    int client;
    int server;
  };
  Pair connect();
  std::string receive(int fd, size_t count);
  int32_t send(int fd, std::string_view text);
  // A file that the page cache has.
  struct CachedFile {
    int fd = -1;
    std::string text;
    std::byte* mapped = nullptr;  // twice as long as the text
  };
  CachedFile cachedFile(size_t bytes);
  void closeAll(const Pair& pair, const CachedFile& file);
  static void setSendFile(rt::Op& op, int fd, const CachedFile& file, uint64_t offset,
                          size_t length);

  std::unique_ptr<Rig> rig_;
  std::vector<rt::Op*> completed_;  // everything that enter() handed over, in order
};

// Operations, filled in.
void setAccept(rt::Op& op, int fd);
void setConnect(rt::Op& op, int fd, const sockaddr_in& address);
void setRecv(rt::Op& op, int fd, void* to, size_t length);
void setRecvSelect(rt::Op& op, int fd);
void setSend(rt::Op& op, int fd, const void* from, size_t length);
void setFile(rt::Op& op, rt::OpKind kind, int fd, void* bytes, size_t length, uint64_t offset);
void setPoll(rt::Op& op, int fd, uint32_t events);
void setPlain(rt::Op& op, rt::OpKind kind, int fd);  // fsync, shutdown, close

}  // namespace contract
