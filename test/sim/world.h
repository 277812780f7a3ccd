// A deterministic world for programs written on rt: hosts (each with an engine and a reactor), a
// network and a disk, on one thread, driven by one seed. The same seed gives the same trace,
// whatever the machine.
//
// Time is virtual: it moves when no host has anything to do, to the next event or timer, and a
// little with every turn. Hosts with something to do take turns in random order. A host that found
// nothing to do parks, as a shard's thread does before it sleeps: from then on only a completion, a
// timer or a doorbell wakes it. So a lost doorbell is a hang, and run() reports it: `stuck` when
// nothing can ever happen again, `deadline` when only timers go on.
//
// Fault models: network.h and disk.h; how often: options.h. Besides, a whole process can be killed:
// its connections are reset, its operations end, and everything it does from then on fails without
// effect, so that its coroutines can unwind and its objects be destroyed.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "test/sim/disk.h"
#include "test/sim/host.h"
#include "test/sim/network.h"

struct sockaddr_in;

namespace sim {

enum class Ran : uint8_t { done, deadline, stuck };

struct FileSpec {
  uint64_t length = 0;           // of a new file
  uint64_t limit = 64ULL << 20;  // how far it may grow
  bool direct = false;           // address, offset and length must be multiples of 512 (O_DIRECT)
};

class SimWorld : private Kernel, private Network::Descriptors {
 public:
  explicit SimWorld(uint64_t seed, const Options& options = Options());
  ~SimWorld() override;
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  SimHost& addHost(HostSpec spec = {});
  SimHost& host(size_t index) { return *hosts_[index]; }
  size_t hosts() const { return hosts_.size(); }

  // Descriptors, as the control thread would make them. They are unique in the world.
  int socket(SimHost& host);
  int listen(SimHost& host, uint16_t port, uint32_t ipv4 = 0);
  int openFile(SimHost& host, std::string_view name, const FileSpec& spec = {});
  int openEvent(SimHost& host);              // like an eventfd
  void signalEvent(int fd, uint64_t count);  // like a write to it
  void closeNow(int fd);                     // close(2)
  uint64_t openDescriptors(const SimHost& host) const;
  void resetConnection(int fd);
  void abortOnClose(int fd);  // like SO_LINGER with 0

  // Runs until `done`, which is asked after every step, or until the virtual time `deadline`.
  Ran run(const std::function<bool()>& done, base::MonoTime deadline);
  // The same, until everything spawned on the host by SimHost::spawn has ended.
  Ran runToEnd(SimHost& host, base::MonoTime deadline);
  Ran runFor(uint64_t ns);
  // Something at a later virtual time, outside of every host.
  void at(base::MonoTime time, std::function<void()> action) {
    core_.schedule(time.ns, std::move(action));
  }

  // Kills every host of the process.
  void kill(uint32_t process);
  void crashDisk() { disk_.crash(); }
  // No more faults from here on: what has not ended must end soon.
  void calm();
  void setDisk(const DiskOptions& options) { disk_.setOptions(options); }

  base::MonoTime now() const { return base::MonoTime{core_.now()}; }
  uint64_t traceHash() const { return core_.traceHash(); }
  Core& core() { return core_; }
  base::Random& random() { return core_.random(); }
  Network& network() { return network_; }
  Disk& disk() { return disk_; }
  const Options& options() const { return options_; }

  // 127.0.0.1 or another address, for Connect.
  static sockaddr_in address(uint16_t port, uint32_t ipv4 = 0x7f000001);

 private:
  struct Node {
    enum class Kind : uint8_t { socket, file, event };
    Kind kind = Kind::socket;
    uint64_t id = 0;
    uint32_t host = 0;
    bool direct = false;
    bool abort = false;  // reset when it is closed
  };
  struct Event {
    uint64_t count = 0;
    std::vector<Pending*> waiting;
  };
  static constexpr int kFirstDescriptor = 1 << 20;

  // Kernel
  void start(Pending& pending) override;
  void cancel(Pending& pending) override;
  void ringDoorbell(SimEngine& from, base::ShardId to) override;
  void sleep(SimEngine& engine, base::MonoTime until) override;
  // Network::Descriptors
  int add(uint32_t host, uint64_t socket) override;

  int addNode(Node node);
  Node* find(Pending& pending);
  void startClose(Pending& pending);
  void startSendFile(Pending& pending, const Node& node);
  void cancelNow(Pending& pending);
  void dispatch(Pending& pending, const Node& node);
  void startEvent(Pending& pending, uint64_t id);
  void pumpEvent(Event& event);
  SimHost* chooseRunnable();
  uint64_t nextMoment() const;

  Options options_;
  Core core_;
  Network network_;
  Disk disk_;
  std::vector<std::unique_ptr<SimHost>> hosts_;
  std::unordered_map<int, Node> nodes_;  // by descriptor; only looked up, or counted
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<SimHost*> runnable_;
  int next_descriptor_ = kFirstDescriptor;
};

}  // namespace sim
