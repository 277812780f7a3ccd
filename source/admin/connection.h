// One connection to the admin: reads whole requests from it, within limits.
#pragma once

#include <cstdint>
#include <string>

#include "source/admin/command.h"
#include "source/base/intrusive_list.h"
#include "source/http/codec.h"
#include "source/net/acceptor.h"
#include "source/net/stream.h"

namespace admin {

struct AdminLimits {
  uint32_t connections = 64;
  uint32_t head_bytes = 16384;
  uint16_t fields = 100;
  uint32_t query_bytes = 8192;
  uint32_t body_bytes = 65536;
  uint64_t idle_ns = 60 * base::kSecond_ns;
  uint64_t request_ns = 10 * base::kSecond_ns;  // for a request to come whole
  uint64_t write_ns = 60 * base::kSecond_ns;    // for an answer to be sent
  uint64_t linger_ns = base::kSecond_ns;        // for a client that still sends to read its answer
  uint64_t stop_grace_ns = base::kSecond_ns;
};

class Connection : public base::ListHook {
 public:
  enum class Got : uint8_t {
    request,  // fields below describe it
    problem,  // it is answered with `problem`, and the connection ends
    end,      // nothing more comes, or nothing came in time
  };

  Connection(net::Stream s, net::ConnectionSlot place, const AdminLimits& limits,
             rt::CancelScope& reading)
      : stream(std::move(s)), slot(std::move(place)), scope(reading), limits_(limits) {}

  // Waits for a request's first byte; false if the connection ends instead.
  rt::Task<bool> waitForRequest(base::MonoTime deadline);
  bool hasInput() const { return !input_.empty(); }
  rt::Task<Got> readRequest(base::MonoTime deadline);
  // After an answer that the client may not have read yet, while it is still sending.
  rt::Task<void> linger(base::MonoTime deadline, rt::CancelScope& until);
  // Views of this connection, until the next request is read.
  Request request() const;

  net::Stream stream;
  net::ConnectionSlot slot;
  rt::CancelScope scope;  // of reading
  Reply problem;
  bool over_limit = false;  // the problem is one of ours
  bool timed_out = false;
  bool keep_alive = false;
  bool is_head = false;

 private:
  rt::Task<Got> readHead(base::MonoTime deadline);
  rt::Task<Got> readBody(http::Framing framing, bool expects_continue, base::MonoTime deadline);
  rt::Task<Got> readChunks(base::MonoTime deadline);
  Got takeHead(uint32_t consumed, const http::RequestHead& head);
  rt::Task<bool> receive(base::MonoTime deadline);
  Got refuse(uint16_t status, std::string why, bool is_limit = false);
  Got refuseLate();

  const AdminLimits& limits_;
  std::string input_;  // received and not used yet
  std::string method_, path_, query_, host_, origin_, body_;
  http::Framing framing_;
  bool expects_continue_ = false;
  bool is_form_ = false;
};

}  // namespace admin
