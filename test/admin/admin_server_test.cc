// Goal: the server speaks HTTP/1.1 strictly, keeps connections, holds its limits at N and N+1, and
// ends in order. Method: plain clients on loopback against a server on the same thread, with a fake
// process behind it.

#include "source/admin/admin_server.h"

#include <gtest/gtest.h>

#include <vector>

#include "test/admin/fake_control.h"
#include "test/net/loop.h"

namespace admin {
namespace {

struct Answer {
  std::string head;
  std::string body;
  std::string status() const { return head.substr(9, 3); }
  bool says(std::string_view field) const { return head.find(field) != std::string::npos; }
};

class AdminServerTest : public net::LoopTest {
 protected:
  AdminServerTest() : listening_(listenAnywhere(128)), serving_group_() {}
  ~AdminServerTest() override {
    for (const int fd : clients_) {
      ::close(fd);
    }
    ::close(listening_);
  }

  void TearDown() override {
    if (server_) {
      stopServer();
      server_.reset();
      serving_group_.reset();
    }
  }

  void start(const AdminLimits& limits = {}) {
    server_.emplace(*reactor_, *pool_, sockets_, control_, limits);
    serving_group_.emplace(*reactor_, 2);
    serving_group_->spawn(server_->serve(listening_, scope_));
  }
  void stopServer() {
    control_.release();
    serving_group_->spawn(server_->stop());
    runUntilEmpty(*serving_group_);
  }

  // A client, by its number.
  int connect() {
    clients_.push_back(connectTo(net::Address::localOf(listening_)));
    received_.emplace_back();
    return static_cast<int>(clients_.size()) - 1;
  }
  // One that the server has accepted.
  int connectAccepted() {
    const uint64_t before = server_->stats().downstream_cx_total;
    const int client = connect();
    runUntil([&] { return server_->stats().downstream_cx_total > before; });
    return client;
  }
  void send(int client, std::string_view bytes) {
    ASSERT_EQ(::send(clients_[client], bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Reads what is there; false: the connection has ended.
  bool receive(int client) {
    char bytes[4096];
    ssize_t got = 0;
    while ((got = recv(clients_[client], bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
      received_[client].append(bytes, static_cast<size_t>(got));
    }
    return got < 0 && errno == EAGAIN;
  }
  bool ended(int client) {
    bool open = true;
    for (int turns = 0; turns < 2000 && open; turns++) {
      reactor_->runTurn(true);
      open = receive(client);
    }
    return !open;
  }
  // The next answer; with_body false: to a HEAD request.
  Answer read(int client, bool with_body = true) {
    std::string& bytes = received_[client];
    Answer answer;
    bool open = true;
    while (true) {
      const size_t head_end = bytes.find("\r\n\r\n");
      if (head_end != std::string::npos) {
        const std::string head = bytes.substr(0, head_end + 4);
        const size_t at = head.find("Content-Length: ");
        const size_t length =
            at == std::string::npos || !with_body ? 0 : std::stoul(head.substr(at + 16));
        if (bytes.size() >= head.size() + length) {
          answer = {head, bytes.substr(head.size(), length)};
          bytes.erase(0, head.size() + length);
          return answer;
        }
      }
      if (!open) {
        ADD_FAILURE() << "the connection ended after: " << bytes;
        return answer;
      }
      reactor_->runTurn(true);
      open = receive(client);
    }
  }
  Answer ask(int client, std::string_view bytes) {
    send(client, bytes);
    return read(client);
  }
  Answer get(int client, const std::string& target) {
    return ask(client, "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
  }

  FakeControl control_;
  int listening_;
  std::vector<int> clients_;
  std::vector<std::string> received_;
  std::optional<AdminServer> server_;
  std::optional<rt::TaskGroup> serving_group_;
};

TEST_F(AdminServerTest, AnswersSeveralRequestsOnOneConnection) {
  start();
  const int client = connect();
  const Answer first = get(client, "/ready");
  EXPECT_EQ(first.status(), "200");
  EXPECT_EQ(first.body, "LIVE\n");
  EXPECT_TRUE(first.says("\r\nContent-Type: text/plain; charset=UTF-8\r\n"));
  EXPECT_TRUE(first.says("\r\nCache-Control: no-cache, max-age=0\r\n"));
  EXPECT_TRUE(first.says("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_TRUE(first.says("\r\nDate: "));
  EXPECT_FALSE(first.says("Connection:"));
  EXPECT_EQ(get(client, "/stats?filter=^http.downstream_rq_total").body,
            "http.downstream_rq_total: 201\n");
  EXPECT_EQ(get(client, "/nothing").status(), "404");
  const Answer not_allowed = get(client, "/reload");
  EXPECT_EQ(not_allowed.status(), "405");
  EXPECT_TRUE(not_allowed.says("\r\nAllow: POST\r\n"));
  EXPECT_EQ(server_->stats().downstream_rq_total, 4u);
  EXPECT_EQ(server_->stats().downstream_rq_4xx, 2u);
}

TEST_F(AdminServerTest, AnswersPipelinedRequestsInOrder) {
  start();
  const int client = connect();
  send(client,
       "GET /ready HTTP/1.1\r\nHost: a\r\n\r\nGET /certs HTTP/1.1\r\nHost: a\r\n\r\n"
       "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(read(client).body, "LIVE\n");
  EXPECT_TRUE(read(client).says("application/json"));
  EXPECT_EQ(read(client).status(), "404");
}

TEST_F(AdminServerTest, AnswersHeadWithoutABody) {
  start();
  const int client = connect();
  send(client, "HEAD /ready HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(read(client, false).says("\r\nContent-Length: 5\r\n"));
  EXPECT_EQ(get(client, "/ready").body, "LIVE\n");
}

TEST_F(AdminServerTest, ClosesWhenTheClientWantsIt) {
  start();
  const int client = connect();
  const Answer answer = ask(client, "GET /ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.says("\r\nConnection: close\r\n"));
  EXPECT_TRUE(ended(client));
  const int old = connect();
  EXPECT_EQ(ask(old, "GET /ready HTTP/1.0\r\n\r\n").status(), "200");
  EXPECT_TRUE(ended(old));
}

TEST_F(AdminServerTest, ReadsFormsInEveryFraming) {
  start();
  const int client = connect();
  const std::string form = "Content-Type: application/x-www-form-urlencoded\r\n";
  const std::string head = "POST /logging HTTP/1.1\r\nHost: a\r\n" + form;
  EXPECT_EQ(ask(client, head + "Content-Length: 11\r\n\r\nlevel=debug").body,
            "active loggers:\n  ringfence: debug\n");
  EXPECT_EQ(ask(client, head + "Transfer-Encoding: chunked\r\n\r\n"
                               "5\r\nlevel\r\n6\r\n=error\r\n0\r\n\r\n")
                .body,
            "active loggers:\n  ringfence: error\n");
  send(client, head + "Expect: 100-continue\r\nContent-Length: 9\r\n\r\n");
  EXPECT_EQ(read(client).status(), "100");
  EXPECT_EQ(ask(client, "level=off").body, "active loggers:\n  ringfence: off\n");
  // Another type's body is read and left alone.
  EXPECT_EQ(ask(client, "POST /logging HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nlevel=bad")
                .status(),
            "200");
}

TEST_F(AdminServerTest, TakesRequestsInAnyFragmentation) {
  start();
  const int client = connect();
  const std::string_view request =
      "POST /logging HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
      "Content-Length: 11\r\n\r\nlevel=debug";
  for (const char c : request) {
    send(client, std::string_view(&c, 1));
    reactor_->runTurn(false);
  }
  EXPECT_EQ(read(client).body, "active loggers:\n  ringfence: debug\n");
}

TEST_F(AdminServerTest, RefusesWhatIsMalformedAndCloses) {
  start();
  const struct {
    const char* bytes;
    const char* status;
  } rows[] = {
      {"nonsense\r\n\r\n", "400"},
      {"GET /ready HTTP/1.1\r\n\r\n", "400"},
      {"GET ready HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
      {"GET /ready HTTP/2.0\r\nHost: a\r\n\r\n", "505"},
      {"POST /logging HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: "
       "chunked\r\n\r\n",
       "400"},
      {"POST /logging HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "501"},
      {"POST /logging HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "400"},
  };
  for (const auto& row : rows) {
    const int client = connect();
    const Answer answer = ask(client, row.bytes);
    EXPECT_EQ(answer.status(), row.status) << row.bytes;
    EXPECT_TRUE(answer.says("\r\nConnection: close\r\n"));
    EXPECT_FALSE(answer.body.empty());
    EXPECT_TRUE(ended(client));
  }
}

TEST_F(AdminServerTest, HoldsItsLimitOfTheHead) {
  start();
  const std::string line = "GET /ready HTTP/1.1\r\nHost: a\r\nX: ";
  const size_t room = AdminLimits().head_bytes - line.size() - 4;
  int client = connect();
  EXPECT_EQ(ask(client, line + std::string(room, 'x') + "\r\n\r\n").status(), "200");
  EXPECT_EQ(ask(client, line + std::string(room + 1, 'x') + "\r\n\r\n").status(), "431");
  EXPECT_TRUE(ended(client));
  client = connect();
  std::string fields = "GET /ready HTTP/1.1\r\nHost: a\r\n";
  for (int i = 1; i < AdminLimits().fields; i++) {
    fields += "A: b\r\n";
  }
  EXPECT_EQ(ask(client, fields + "\r\n").status(), "200");
  EXPECT_EQ(ask(client, fields + "A: b\r\n\r\n").status(), "431");
  EXPECT_EQ(server_->stats().downstream_rq_over_limit, 2u);
}

TEST_F(AdminServerTest, HoldsItsLimitOfTheQuery) {
  start();
  const int client = connect();
  const std::string fill(AdminLimits().query_bytes - std::string_view("filter=").size(), 'x');
  EXPECT_EQ(get(client, "/stats?filter=" + fill).status(), "200");
  EXPECT_EQ(get(client, "/stats?filter=x" + fill).status(), "414");
  EXPECT_TRUE(ended(client));
}

TEST_F(AdminServerTest, HoldsItsLimitOfTheBody) {
  AdminLimits limits;
  limits.body_bytes = 100;
  start(limits);
  const std::string head = "POST /logging HTTP/1.1\r\nHost: a\r\n";
  int client = connect();
  EXPECT_EQ(ask(client, head + "Content-Length: 100\r\n\r\n" + std::string(100, 'x')).status(),
            "200");
  EXPECT_EQ(ask(client, head + "Content-Length: 101\r\n\r\n").status(), "413");
  EXPECT_TRUE(ended(client));
  client = connect();
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(ask(client, chunked + "64\r\n" + std::string(100, 'x') + "\r\n0\r\n\r\n").status(),
            "200");
  EXPECT_EQ(ask(client, chunked + "64\r\n" + std::string(100, 'x') + "\r\n1\r\nx\r\n").status(),
            "413");
  EXPECT_TRUE(ended(client));
}

TEST_F(AdminServerTest, ClosesWhatIsIdleOrTooSlow) {
  AdminLimits limits;
  limits.idle_ns = limits.request_ns = limits.linger_ns = 20 * base::kMillisecond_ns;
  start(limits);
  const int idle = connect();
  EXPECT_TRUE(ended(idle));
  EXPECT_EQ(received_[idle], "");
  EXPECT_EQ(server_->stats().downstream_cx_idle_timeout, 1u);
  const int slow = connect();
  send(slow, "GET /ready HTTP/1.1\r\nHost:");
  EXPECT_EQ(read(slow).status(), "408");
  EXPECT_TRUE(ended(slow));
}

TEST_F(AdminServerTest, OneConnectionTooManyTakesThePlaceOfTheOneUnusedLongest) {
  AdminLimits limits;
  limits.connections = 3;
  start(limits);
  for (int i = 0; i < 3; i++) {
    connectAccepted();
  }
  EXPECT_EQ(get(0, "/ready").status(), "200");  // now the second is unused the longest
  EXPECT_EQ(server_->stats().downstream_cx_evicted, 0u);
  const int extra = connectAccepted();
  EXPECT_TRUE(ended(1));
  EXPECT_EQ(get(extra, "/ready").status(), "200");
  EXPECT_EQ(get(0, "/ready").status(), "200");
  EXPECT_EQ(get(2, "/ready").status(), "200");
  EXPECT_EQ(server_->stats().downstream_cx_evicted, 1u);
  EXPECT_EQ(server_->stats().downstream_cx_active, 3u);
}

TEST_F(AdminServerTest, OneConnectionTooManyIsResetWhenAllAreBusy) {
  AdminLimits limits;
  limits.connections = 2;
  start(limits);
  control_.held = true;
  for (int i = 0; i < 2; i++) {
    send(connectAccepted(), "GET /stats HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  runUntil([&] { return control_.asked.size() == 2; });
  const int extra = connectAccepted();
  EXPECT_TRUE(ended(extra));
  EXPECT_EQ(server_->stats().downstream_cx_shed, 1u);
  control_.release();
  EXPECT_EQ(read(0).status(), "200");
  EXPECT_EQ(read(1).status(), "200");
}

TEST_F(AdminServerTest, ReadinessIsAnsweredWhileTheShardsAreSlow) {
  start();
  control_.held = true;
  const int slow = connect();
  send(slow, "GET /stats HTTP/1.1\r\nHost: a\r\n\r\n");
  runUntil([&] { return control_.asked.size() == 1; });
  EXPECT_EQ(get(connect(), "/ready").body, "LIVE\n");
  control_.release();
  EXPECT_EQ(read(slow).status(), "200");
}

TEST_F(AdminServerTest, QuittingIsAskedForOnceTheAnswerIsSent) {
  start();
  const int client = connect();
  const Answer answer = ask(client, "POST /quitquitquit HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(answer.body, "OK\n");
  EXPECT_TRUE(answer.says("\r\nConnection: close\r\n"));
  EXPECT_TRUE(ended(client));
  EXPECT_EQ(control_.asked, std::vector<std::string>{"quit"});
}

TEST_F(AdminServerTest, StoppingClosesUnusedConnectionsAndSendsTheAnswersThatAreDue) {
  start();
  const int idle = connectAccepted();
  const int half = connectAccepted();
  send(half, "GET /rea");
  const int busy = connectAccepted();
  control_.held = true;
  send(busy, "GET /stats HTTP/1.1\r\nHost: a\r\n\r\n");
  runUntil([&] { return control_.asked.size() == 1; });
  serving_group_->spawn(server_->stop());
  EXPECT_TRUE(ended(idle));
  EXPECT_TRUE(ended(half));
  EXPECT_EQ(serving_group_->size(), 2u);
  control_.release();
  const Answer answer = read(busy);
  EXPECT_EQ(answer.status(), "200");
  EXPECT_TRUE(answer.says("\r\nConnection: close\r\n"));
  runUntilEmpty(*serving_group_);
  EXPECT_EQ(server_->stats().downstream_cx_active, 0u);
}

TEST_F(AdminServerTest, EndsWithTheScopeItServesIn) {
  start();
  const int client = connectAccepted();
  scope_.request();
  runUntilEmpty(*serving_group_);
  EXPECT_TRUE(ended(client));
}

TEST_F(AdminServerTest, AClientThatDoesNotReadIsCutOffWhenTheServerStops) {
  AdminLimits limits;
  limits.stop_grace_ns = 10 * base::kMillisecond_ns;
  start(limits);
  control_.bootstrap = "\"" + std::string(32 << 20, 'x') + "\"";
  const int client = connectAccepted();
  send(client, "GET /config_dump HTTP/1.1\r\nHost: a\r\n\r\n");
  runUntil([&] { return server_->stats().downstream_rq_2xx == 1; });
  stopServer();
  EXPECT_EQ(server_->stats().downstream_cx_active, 0u);
}

TEST_F(AdminServerTest, AClientThatGoesAwayTakesNothingWithIt) {
  start();
  const int client = connectAccepted();
  control_.held = true;
  send(client, "GET /stats HTTP/1.1\r\nHost: a\r\n\r\n");
  runUntil([&] { return control_.asked.size() == 1; });
  ::close(clients_[client]);
  clients_[client] = -1;
  control_.release();
  runUntil([&] { return server_->stats().downstream_cx_active == 0; });
  EXPECT_EQ(get(connect(), "/ready").body, "LIVE\n");
}

}  // namespace
}  // namespace admin
