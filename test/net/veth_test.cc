// Goal: connections arriving over a network interface with two queues reach the shard that their
// queue names. Method: the test makes two network namespaces joined by a two-queue veth pair: this
// process moves into the server's, a thread into the client's. The client's transmit queue is
// chosen by its XPS masks: all CPUs on one queue, none on the other. Namespaces and pair vanish
// with the process. Needs root and `ip`.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include "source/net/listener.h"

namespace net {
namespace {

using testing::HasSubstr;

// Moves the calling thread into network and mount namespaces of its own, with a /sys that shows
// them.
std::string enterOwnNamespaces() {
  if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) {
    return std::string("unshare: ") + strerror(errno);
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0) {
    return std::string("mounting /sys: ") + strerror(errno);
  }
  return "";
}

bool shell(const std::string& command) {
  return system(command.c_str()) == 0;
}

// A thread in the client's namespaces, which runs what it is given.
class Client {
 public:
  Client() : thread_([this] { serve(); }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tid_ != 0; });
  }
  ~Client() {
    run(nullptr);
    thread_.join();
  }
  const std::string& problem() const { return problem_; }
  pid_t tid() const { return tid_; }

  // Runs `work` on the thread, to its end; nullptr ends the thread.
  void run(std::function<void()> work) {
    std::unique_lock lock(mutex_);
    work_ = std::move(work);
    pending_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !pending_; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    problem_ = enterOwnNamespaces();
    tid_ = static_cast<pid_t>(syscall(SYS_gettid));
    changed_.notify_all();
    bool more = true;
    while (more) {
      changed_.wait(lock, [this] { return pending_; });
      more = work_ != nullptr;
      if (more) {
        work_();
      }
      pending_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool pending_ = false;
  pid_t tid_ = 0;
  std::string problem_;
  std::thread thread_;  // last: it uses the others
};

// One server namespace (this process) and one client namespace for all tests.
class VethTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { problem_ = new std::string(setUp()); }
  static void TearDownTestSuite() {
    delete client_;
    delete problem_;
  }
  void SetUp() override {
    if (!problem_->empty()) {
      GTEST_SKIP() << "no network namespaces here: " << *problem_;
    }
  }

  static std::string setUp() {
    if (geteuid() != 0) {
      return "not root";
    }
    if (!shell("ip -V >/dev/null 2>&1")) {
      return "no ip command";
    }
    std::string problem = enterOwnNamespaces();
    if (!problem.empty()) {
      return problem;
    }
    client_ = new Client;
    if (!client_->problem().empty()) {
      return client_->problem();
    }
    if (!shell("ip link add s0 numrxqueues 2 numtxqueues 2 type veth peer name c0 numrxqueues 2 "
               "numtxqueues 2 netns " +
               std::to_string(client_->tid()) + " 2>/dev/null")) {
      return "the kernel has no veth";
    }
    bool fine = shell(
        "ip addr add 10.77.0.1/24 dev s0 && ip addr add fd77::1/64 dev s0 nodad && "
        "ip link set s0 up && ip link set lo up");
    client_->run([&fine] {
      fine = fine && shell(
                         "ip addr add 10.77.0.2/24 dev c0 && ip addr add fd77::2/64 dev c0 nodad "
                         "&& ip link set c0 up");
    });
    return fine ? "" : "the veth pair cannot be configured";
  }

  // All of the client's packets leave by this queue.
  static void sendBy(uint32_t queue) {
    bool fine = true;
    client_->run([queue, &fine] {
      for (uint32_t i = 0; i < 2; i++) {
        std::ofstream mask("/sys/class/net/c0/queues/tx-" + std::to_string(i) + "/xps_cpus");
        mask << (i == queue ? everyCpu() : "0") << std::flush;
        fine = fine && mask.good();
      }
    });
    ASSERT_TRUE(fine) << "the XPS masks cannot be written";
  }
  // As the kernel writes CPU masks: words of 32 CPUs, the highest first.
  static std::string everyCpu() {
    const uint32_t cpus = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_CONF));
    const uint32_t in_first = cpus % 32 == 0 ? 32 : cpus % 32;
    char first[16];
    snprintf(first, sizeof(first), "%llx", (1ull << in_first) - 1);
    std::string mask = first;
    for (uint32_t i = 0; i < (cpus - in_first) / 32; i++) {
      mask += ",ffffffff";
    }
    return mask;
  }

  // Connects once from the client's namespace; returns the shard whose socket got the connection.
  static size_t arrivalOf(const ListenerGroup& group) {
    Address to = group.address();
    if (to.isWildcard()) {
      to = *Address::parse(to.isIpv6() ? "fd77::1" : "10.77.0.1", to.port());
    }
    int client = -1;
    client_->run([&client, &to] {
      client = socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_EQ(connect(client, to.data(), to.length()), 0) << strerror(errno);
    });
    std::vector<pollfd> waits;
    for (const int fd : group.fds()) {
      waits.push_back(pollfd{fd, POLLIN, 0});
    }
    EXPECT_EQ(poll(waits.data(), waits.size(), 10000), 1);
    size_t shard = 0;
    while (shard < waits.size() && waits[shard].revents == 0) {
      shard++;
    }
    if (shard < waits.size()) {
      close(accept(waits[shard].fd, nullptr, nullptr));
    }
    close(client);
    return shard;
  }

  static std::optional<ListenerGroup> open(const char* ip, Steering steering, uint16_t shards,
                                           std::string& why_not) {
    base::Result<ListenerGroup> opened =
        openListeners(ListenerSpec{*Address::parse(ip, 0), 64, steering}, shards, {}, why_not);
    if (!opened.ok()) {
      return std::nullopt;
    }
    return std::move(opened.value());
  }

  static std::string* problem_;
  static Client* client_;
};

std::string* VethTest::problem_ = nullptr;
Client* VethTest::client_ = nullptr;

TEST_F(VethTest, TheInterfaceIsSeenWithItsQueues) {
  const std::vector<Interface> found = interfacesOf(*Address::parse("10.77.0.1", 80));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "s0");
  EXPECT_EQ(found[0].rx_queues, 2u);
  EXPECT_TRUE(found[0].veth);
  EXPECT_FALSE(found[0].loopback);
}

TEST_F(VethTest, EachConnectionArrivesAtTheShardThatItsQueueNames) {
  for (const char* ip : {"10.77.0.1", "fd77::1", "0.0.0.0", "::"}) {
    for (const Steering steering : {Steering::automatic, Steering::queue_mapping}) {
      std::string why_not;
      std::optional<ListenerGroup> group = open(ip, steering, 2, why_not);
      ASSERT_TRUE(group) << why_not;
      EXPECT_EQ(group->steering(), Steering::queue_mapping);
      EXPECT_THAT(group->steeringText(),
                  HasSubstr("QUEUE_MAPPING: s0 has 2 RX queues for 2 shards"));
      for (const uint32_t queue : {0u, 1u, 0u}) {
        sendBy(queue);
        for (int repeat = 0; repeat < 16; repeat++) {
          ASSERT_EQ(arrivalOf(*group), queue) << ip;
        }
      }
    }
  }
}

TEST_F(VethTest, QueueMappingIsRefusedAndAutoHashesWithMoreShardsThanQueues) {
  std::string why_not;
  EXPECT_FALSE(open("10.77.0.1", Steering::queue_mapping, 3, why_not));
  EXPECT_THAT(why_not, HasSubstr("QUEUE_MAPPING steering is impossible: s0 has 2 RX queues for 3 "
                                 "shards"));
  std::optional<ListenerGroup> group = open("10.77.0.1", Steering::automatic, 3, why_not);
  ASSERT_TRUE(group) << why_not;
  EXPECT_EQ(group->steeringText(), "HASH: s0 has 2 RX queues for 3 shards");
  std::vector<int> arrived(3);
  for (int i = 0; i < 64; i++) {
    arrived[arrivalOf(*group)]++;
  }
  EXPECT_GT(arrived[0], 0);
  EXPECT_GT(arrived[1], 0);
  EXPECT_GT(arrived[2], 0);
}

}  // namespace
}  // namespace net
