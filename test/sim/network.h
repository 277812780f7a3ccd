// The simulated network: listening sockets, connections, and their bytes on the way.
//
// Fault model. A connection is two byte streams. Bytes are never lost, reordered, doubled or
// changed (that is TCP's work); they come late, in pieces of any size, and only while the
// receiver's window has room, so a send ends as its peer reads. A connection may be refused, never
// answered, accepted late, or reset at any piece; bytes on the way may die with a reset, bytes that
// have arrived may still be read before it. The end of a stream comes after its bytes. Closing a
// socket with unread bytes resets its peer, and so do bytes that arrive at a closed socket.
//
// Not modelled: urgent data, SO_LINGER, simultaneous open, address families (a listener has a port,
// and optionally one IPv4 address).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "test/sim/engine.h"
#include "test/sim/options.h"

namespace sim {

struct Piece {
  enum class Kind : uint8_t { bytes, end, reset };
  uint64_t at_ns = 0;
  Kind kind = Kind::bytes;
  std::vector<std::byte> bytes;
};

struct Socket {
  enum class State : uint8_t { fresh, connecting, listening, connected, closed };

  uint64_t id = 0;
  uint32_t host = 0;
  State state = State::fresh;
  uint32_t address = 0;  // IPv4 in host order; 0: any
  uint16_t port = 0;     // where it listens, or what it is connected to
  uint64_t peer = 0;     // 0: none
  // What comes in.
  std::deque<Piece> wire;
  uint64_t wire_bytes = 0;
  uint64_t last_arrival_ns = 0;
  std::vector<std::byte> inbox;
  size_t inbox_read = 0;
  uint32_t window = 0;
  bool end_arrived = false;
  bool end_sent = false;
  bool dead = false;  // reset: nothing more in either direction
  int32_t error = 0;  // reported once
  // Who waits.
  std::deque<Pending*> reads;
  std::deque<Pending*> writes;
  std::deque<Pending*> polls;
  std::deque<Pending*> accepts;
  // Connections nobody has accepted yet.
  struct Waiting {
    uint64_t socket;
    uint64_t ready_ns;
  };
  std::deque<Waiting> backlog;

  size_t available() const { return inbox.size() - inbox_read; }
};

class Network {
 public:
  // Gives a new connection's socket a descriptor of its host.
  class Descriptors {
   public:
    virtual ~Descriptors() = default;
    virtual int add(uint32_t host, uint64_t socket) = 0;
  };

  Network(Core& core, const NetworkOptions& options, Descriptors& descriptors);

  uint64_t create(uint32_t host);
  // Several listeners may share a port: connections are spread over them at random.
  void listen(uint64_t socket, uint16_t port, uint32_t address);

  void start(Pending& pending, uint64_t socket);
  // A send_file: as many as there is room for.
  void sendNow(Pending& pending, uint64_t socket, std::span<const std::byte> bytes);
  void cancel(Pending& pending);
  void close(uint64_t socket);
  // The machine of this host is gone: its connections are reset, its listeners vanish.
  void killHost(uint32_t host);

  // For scenarios.
  void reset(uint64_t socket);  // from outside, seen by both ends
  void setOptions(const NetworkOptions& options) { options_ = options; }
  const Socket& socket(uint64_t id) const { return *sockets_[id]; }
  uint64_t connections() const { return connections_; }
  uint64_t openSockets(uint32_t host) const;

 private:
  Socket& at(uint64_t id) { return *sockets_[id]; }
  uint64_t latency();
  void startConnect(Pending& pending, Socket& socket);
  void handshake(uint64_t client);
  void connected(uint64_t client);
  void failConnect(uint64_t client, int32_t error);
  std::optional<uint64_t> chooseListener(uint16_t port, uint32_t address);
  void startSend(Pending& pending, Socket& socket);
  void startReceive(Pending& pending, Socket& socket);
  void shutdown(Pending& pending, Socket& socket);
  void put(Socket& to, Piece piece);
  void arrive(uint64_t socket);
  void die(Socket& socket, int32_t error);
  void wake(Socket& socket);
  void pumpAccepts(Socket& socket);
  void pumpReads(Socket& socket);
  void pumpWrites(Socket& socket);
  void pumpPolls(Socket& socket);
  bool readInto(Pending& pending, Socket& socket);
  uint32_t readiness(const Socket& socket) const;
  static void copyOut(const rt::Op& op, uint64_t offset, std::span<std::byte> to);

  Core& core_;
  NetworkOptions options_;
  Descriptors& descriptors_;
  std::vector<std::unique_ptr<Socket>> sockets_;  // by id, for ever; 0 is nobody
  std::vector<uint64_t> listeners_;
  uint64_t connections_ = 0;
};

}  // namespace sim
