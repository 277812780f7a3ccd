// Goal: every path answers with the status, type and words of its contract, whatever the method and
// the parameters; what is wrong is named. Method: tables of requests against a fake process; JSON
// is read by Protobuf's parser.

#include "source/admin/command.h"

#include <gtest/gtest.h>

#include "test/admin/parse_json.h"
#include "test/admin/still_engine.h"

namespace admin {
namespace {

struct Row {
  const char* method;
  const char* path;
  const char* query;
  uint16_t status;
  std::string_view type;
  const char* contains;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    Desk desk;
    const Reply reply = desk.ask(row.method, row.path, row.query);
    const std::string what = std::string(row.method) + " " + row.path + "?" + row.query;
    EXPECT_EQ(reply.status, row.status) << what << ": " << reply.body.substr(0, 200);
    EXPECT_EQ(reply.content_type, row.type) << what;
    EXPECT_NE(reply.body.find(row.contains), std::string::npos)
        << what << ": " << reply.body.substr(0, 200);
    if (reply.content_type == kJson) {
      parseJson(reply.body);
    } else {
      EXPECT_TRUE(reply.body.empty() || reply.body.back() == '\n') << what;
    }
  }
}

TEST(CommandTest, EveryPageAnswers) {
  check({
      {"GET", "/", "", 200, kHtml, "<a href=\"/stats\">"},
      {"GET", "/help", "", 200, kText, "admin commands are:\n  /: Admin home page\n"},
      {"GET", "/ready", "", 200, kText, "LIVE\n"},
      {"HEAD", "/ready", "", 200, kText, "LIVE\n"},
      {"POST", "/ready", "", 200, kText, "LIVE\n"},
      {"GET", "/server_info", "", 200, kJson, "\"uptime_current_epoch\": \"6s\""},
      {"GET", "/stats", "", 200, kText, "http.downstream_rq_total: 201\n"},
      {"GET", "/stats", "format=text", 200, kText, "http.downstream_rq_total: 201\n"},
      {"GET", "/stats", "format=json", 200, kJson, "\"http.downstream_rq_total\""},
      {"GET", "/stats", "format=prometheus", 200, kPrometheus, "# TYPE ringfence_"},
      {"GET", "/stats", "usedonly&filter=rq_total&type=Counters", 200, kText, "rq_total: 201"},
      {"GET", "/stats/prometheus", "", 200, kPrometheus, "# HELP ringfence_"},
      {"GET", "/config_dump", "", 200, kJson, "ringfence.config.v1.BootstrapConfigDump"},
      {"GET", "/clusters", "", 200, kText, "origin::127.0.0.1:8000::rq_total::18\n"},
      {"GET", "/clusters", "format=json", 200, kJson, "cluster_statuses"},
      {"GET", "/listeners", "", 200, kText, "http::127.0.0.1:8080\nsix::[::1]:8081\n"},
      {"GET", "/listeners", "format=json", 200, kJson, "listener_statuses"},
      {"GET", "/certs", "", 200, kJson, "\"certificates\": []"},
      {"GET", "/memory", "", 200, kJson, "\"total_physical_bytes\": \""},
      {"GET", "/shards", "", 200, kText, "submissions"},
      {"GET", "/shards", "format=json", 200, kJson, "\"shards\""},
      {"GET", "/cache", "", 200, kText, "main::path::/var/cache/main\n"},
      {"GET", "/cache", "format=json", 200, kJson, "\"index_entries\": 2000"},
      {"GET", "/reload_status", "", 200, kJson, "\"attempts\""},
      {"POST", "/logging", "", 200, kText, "active loggers:\n  ringfence: info\n"},
      {"POST", "/healthcheck/fail", "", 200, kText, "OK\n"},
      {"POST", "/healthcheck/ok", "", 200, kText, "OK\n"},
      {"POST", "/reset_counters", "", 200, kText, "OK\n"},
      {"POST", "/quitquitquit", "", 200, kText, "OK\n"},
      {"POST", "/drain_listeners", "", 200, kText, "OK\n"},
      {"POST", "/drain_listeners", "inboundonly", 200, kText, "OK\n"},
      {"POST", "/drain_listeners", "graceful", 200, kText, "OK\n"},
      {"POST", "/drain_listeners", "graceful&skip_exit", 200, kText, "OK\n"},
  });
}

TEST(CommandTest, UnknownPathsAreAnsweredWithTheCommandsThereAre) {
  check({
      {"GET", "/nothing", "", 404, kText, "invalid path. admin commands are:\n  /: "},
      {"POST", "/nothing", "", 404, kText, "  /quitquitquit (POST): exit the server\n"},
      {"GET", "/ready/", "", 404, kText, "invalid path"},
      {"GET", "*", "", 404, kText, "invalid path"},
      {"GET", "/READY", "", 404, kText, "invalid path"},
  });
}

TEST(CommandTest, WhatChangesSomethingNeedsPostAndOtherMethodsAreRefused) {
  for (const Command& command : commands()) {
    for (const char* method : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}) {
      Desk desk;
      const bool reads = std::string_view(method) == "GET" || std::string_view(method) == "HEAD";
      const Reply reply = desk.ask(method, std::string(command.path), "bogus=1");
      if (command.mutates) {
        EXPECT_EQ(reply.status, 405) << command.path;
        EXPECT_EQ(reply.allow, "POST");
        EXPECT_EQ(reply.body, "Method " + std::string(method) + " not allowed, POST required.\n");
        EXPECT_TRUE(desk.control.asked.empty());
      } else if (!reads) {
        EXPECT_EQ(reply.status, 405) << command.path;
        EXPECT_EQ(reply.allow, "GET, HEAD, POST");
      }
    }
  }
}

TEST(CommandTest, NoCommandTakesAParameterThatItDoesNotKnow) {
  for (const Command& command : commands()) {
    Desk desk;
    const Reply reply = desk.post(std::string(command.path), "bogus=1");
    EXPECT_EQ(reply.status, 400) << command.path;
    EXPECT_NE(reply.body.find("`bogus`"), std::string::npos) << command.path;
    EXPECT_TRUE(desk.control.asked.empty()) << command.path;
  }
}

TEST(CommandTest, CommandsAreListedByPath) {
  for (size_t i = 1; i < commands().size(); i++) {
    EXPECT_LT(commands()[i - 1].path, commands()[i].path);
  }
}

TEST(CommandTest, BadParametersAreNamed) {
  check({
      {"GET", "/stats", "filter=%5B", 400, kText, "Invalid re2 regex\n"},
      {"GET", "/stats", "format=xml", 400, kText, "usage: /stats?format=("},
      {"GET", "/stats", "type=x", 400, kText, "usage: /stats?type=("},
      {"GET", "/stats", "filter=%zz", 400, kText, "parameter `filter`: `%zz`"},
      {"GET", "/stats", "filter=", 400, kText, "parameter `filter`: it needs a value"},
      {"GET", "/stats", "usedonly=maybe", 400, kText, "`maybe` is not one of 1, true, 0, false"},
      {"GET", "/stats", "format=json&format=text", 400, kText, "`format` is given twice"},
      {"GET", "/clusters", "format=xml", 400, kText, "`xml` is not one of text, json"},
      {"GET", "/ready", "x", 400, kText, "unknown parameter `x`: /ready takes none"},
      {"POST", "/drain_listeners", "skip_exit", 400, kText, "skip_exit requires graceful"},
      {"POST", "/drain_listeners", "graceful=0&skip_exit", 400, kText, "requires graceful"},
      {"POST", "/logging", "level=loud", 400, kText, "`loud` is not one of trace, debug"},
      {"POST", "/logging", "other=info", 400, kText, "error: unknown logger `other`\nusage:"},
      {"POST", "/logging", "paths=ringfence", 400, kText, "is not name:level"},
      {"POST", "/logging", "paths=x:info", 400, kText, "unknown logger `x`"},
      {"POST", "/logging", "paths=ringfence:loud", 400, kText, "unknown level `loud`"},
      {"POST", "/logging", "level=info&paths=ringfence:info", 400, kText, "one parameter"},
  });
}

TEST(CommandTest, ReadinessFollowsTheStateAndAsksNoShard) {
  struct {
    State state;
    uint16_t status;
    const char* body;
  } const rows[] = {{State::live, 200, "LIVE\n"},
                    {State::draining, 503, "DRAINING\n"},
                    {State::pre_initializing, 503, "PRE_INITIALIZING\n"},
                    {State::initializing, 503, "INITIALIZING\n"}};
  for (const auto& row : rows) {
    Desk desk;
    desk.control.server.state = row.state;
    desk.control.held = true;
    const Reply reply = desk.get("/ready");
    EXPECT_EQ(reply.status, row.status);
    EXPECT_EQ(reply.body, row.body);
    EXPECT_TRUE(desk.control.asked.empty());
  }
}

TEST(CommandTest, AFailedHealthCheckIsShownUntilItIsOkAgain) {
  Desk desk;
  desk.post("/healthcheck/fail");
  EXPECT_EQ(textAt(parseJson(desk.get("/server_info").body), "state"), "DRAINING");
  desk.post("/healthcheck/ok");
  EXPECT_EQ(desk.get("/ready").body, "LIVE\n");
}

TEST(CommandTest, ServerInfoIsEnvoysWithOurEngine) {
  Desk desk;
  const Json json = parseJson(desk.get("/server_info").body);
  EXPECT_EQ(textAt(json, "version"), "ringfence 0.1");
  EXPECT_EQ(textAt(json, "state"), "LIVE");
  EXPECT_EQ(textAt(json, "uptime_all_epochs"), "6s");
  EXPECT_EQ(textAt(json, "hot_restart_version"), "disabled");
  EXPECT_EQ(textAt(json, "command_line_options.concurrency"), "2");
  EXPECT_EQ(textAt(json, "engine"), "IO_URING");
  EXPECT_EQ(numberAt(json, "shards"), 2);
}

TEST(CommandTest, TheConfigurationIsDumpedAsItWasRead) {
  Desk desk;
  const Json json = parseJson(desk.get("/config_dump").body);
  EXPECT_EQ(textAt(json, "configs.0.@type"),
            "type.googleapis.com/ringfence.config.v1.BootstrapConfigDump");
  EXPECT_TRUE(at(json, "configs.0.bootstrap.admin.address").has_struct_value());
  EXPECT_EQ(textAt(json, "configs.0.last_updated"), "2023-11-14T22:13:20Z");
}

TEST(CommandTest, ListenersHaveTheirRealAddressAndSteering) {
  Desk desk;
  const Json json = parseJson(desk.get("/listeners", "format=json").body);
  const std::string address = "local_address.socket_address.";
  EXPECT_EQ(textAt(json, "listener_statuses.0." + address + "address"), "127.0.0.1");
  EXPECT_EQ(numberAt(json, "listener_statuses.0." + address + "port_value"), 8080);
  EXPECT_EQ(textAt(json, "listener_statuses.1." + address + "address"), "::1");
  EXPECT_EQ(textAt(json, "listener_statuses.1.steering"), "CPU");
}

TEST(CommandTest, ClustersHaveEnvoysShape) {
  Desk desk;
  desk.control.shards[0].clusters[0].endpoints[1].healthy = false;
  const std::string text = desk.get("/clusters").body;
  EXPECT_NE(text.find("origin::default_priority::max_connections::1024\n"), std::string::npos);
  EXPECT_NE(text.find("origin::added_via_api::false\n"), std::string::npos);
  EXPECT_NE(text.find("origin::127.0.0.1:8000::health_flags::healthy\n"), std::string::npos);
  EXPECT_NE(text.find("origin::[::1]:8000::health_flags::/failed_outlier_check\n"),
            std::string::npos);
  const Json json = parseJson(desk.get("/clusters", "format=json").body);
  const std::string host = "cluster_statuses.0.host_statuses.1.";
  EXPECT_EQ(textAt(json, "cluster_statuses.0.name"), "origin");
  EXPECT_EQ(numberAt(json, host + "address.socket_address.port_value"), 8000);
  EXPECT_TRUE(at(json, host + "health_status.failed_outlier_check").bool_value());
  EXPECT_EQ(numberAt(json, host + "weight"), 2);
  EXPECT_EQ(textAt(json, host + "stats.5.name"), "rq_total");
  EXPECT_EQ(textAt(json, host + "stats.5.value"), "2");
  EXPECT_EQ(numberAt(json, "cluster_statuses.0.circuit_breakers.thresholds.0.max_pending_requests"),
            1024);
}

TEST(CommandTest, ShardsShowTheirIoOneByOne) {
  Desk desk;
  const Json json = parseJson(desk.get("/shards", "format=json").body);
  EXPECT_EQ(numberAt(json, "shards.1.shard"), 1);
  EXPECT_EQ(numberAt(json, "shards.1.requests"), 101);
  EXPECT_EQ(numberAt(json, "shards.0.connections"), 5);
  EXPECT_EQ(numberAt(json, "shards.0.hits"), 72);
  EXPECT_EQ(numberAt(json, "shards.0.misses"), 20);
  EXPECT_EQ(numberAt(json, "shards.0.index_entries"), 1000);
  EXPECT_EQ(numberAt(json, "shards.0.ring_depth"), 10);
  EXPECT_EQ(numberAt(json, "shards.0.submissions"), 400);
  EXPECT_EQ(numberAt(json, "shards.0.submission_batch_avg"), 4);
  EXPECT_EQ(numberAt(json, "shards.0.completion_batch_avg"), 3.9);
  EXPECT_EQ(numberAt(json, "shards.1.submission_batch_max"), 11);
  EXPECT_EQ(numberAt(json, "shards.0.reads"), 7);
  EXPECT_EQ(numberAt(json, "shards.0.read_latency.count"), 1);
  EXPECT_EQ(numberAt(json, "shards.0.read_latency.max_us"), 80);
  EXPECT_EQ(numberAt(json, "shards.0.read_latency.buckets.3.le_us"), 100);
  EXPECT_EQ(numberAt(json, "shards.0.read_latency.buckets.3.count"), 1);
  EXPECT_EQ(numberAt(json, "shards.0.write_latency.count"), 1);
  EXPECT_EQ(numberAt(json, "shards.0.caches.0.disk_used_bytes"), 1 << 20);
  EXPECT_EQ(numberAt(json, "shards.0.clusters.0.endpoints.0.rq_total"), 9);
  EXPECT_EQ(textAt(json, "shards.0.listeners.0.steering"), "HASH: lo has 1 RX queue for 2 shards");
  EXPECT_EQ(textAt(json, "steering.0.listener"), "http");
}

TEST(CommandTest, ACacheShowsEachOfItsDisks) {
  Desk desk;
  const Json json = parseJson(desk.get("/cache", "format=json").body);
  EXPECT_EQ(textAt(json, "caches.0.path"), "/var/cache/main");
  EXPECT_EQ(textAt(json, "caches.0.disks.0.state"), "in use");
  EXPECT_EQ(numberAt(json, "caches.0.disks.0.used_bytes"), 2 << 20);
  EXPECT_EQ(numberAt(json, "caches.0.disks.0.max_size_bytes"), 1 << 30);
  EXPECT_EQ(textAt(json, "caches.0.disks.1.path"), "/mnt/b");
  EXPECT_EQ(textAt(json, "caches.0.disks.1.state"),
            "not used (/mnt/b: cannot make the cache directory)");
  EXPECT_EQ(numberAt(json, "caches.0.disks.1.open_failures"), 2);
  EXPECT_EQ(textAt(json, "caches.0.disk"), textAt(json, "caches.0.disks.1.state"));
  const std::string text = desk.get("/cache").body;
  EXPECT_NE(text.find("main::disks::/var/cache/main::used_bytes::2097152\n"), std::string::npos);
  desk.control.directories[1].leaving = true;
  desk.control.directories[1].why_not.clear();
  const Json later = parseJson(desk.get("/cache", "format=json").body);
  EXPECT_EQ(textAt(later, "caches.0.disks.1.state"), "leaving");
  EXPECT_EQ(textAt(later, "caches.0.disk"), "in use");
}

TEST(CommandTest, DisksHaveSeriesOfTheirOwn) {
  Desk desk;
  const std::string text = desk.get("/stats/prometheus").body;
  for (const std::string_view line :
       {"ringfence_cache_directory_in_use{cache=\"main\",directory=\"/var/cache/main\"} 1\n",
        "ringfence_cache_directory_in_use{cache=\"main\",directory=\"/mnt/b\"} 0\n",
        "ringfence_cache_directory_open_failures_total{cache=\"main\",directory=\"/mnt/b\"} 2\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

TEST(CommandTest, TheTableOfShardsAddsUpAndIsSplitWhenItIsTooWide) {
  Desk desk;
  const std::string text = desk.get("/shards").body;
  EXPECT_NE(text.find("listener http 127.0.0.1:8080: steering HASH"), std::string::npos);
  const size_t row = text.find("\nrequests ");
  ASSERT_NE(row, std::string::npos);
  const std::string line = text.substr(row + 1, text.find('\n', row + 1) - row - 1);
  EXPECT_NE(line.find(" 100 "), std::string::npos);
  EXPECT_EQ(line.substr(line.size() - 4), " 201");
  for (uint16_t id = 2; id < 9; id++) {
    desk.control.shards.push_back(desk.control.shards[0]);
    desk.control.shards.back().id = base::ShardId{id};
  }
  const std::string wide = desk.get("/shards").body;
  EXPECT_NE(wide.find("\nrequests ", wide.find("\nrequests ") + 1), std::string::npos);
}

TEST(CommandTest, CountersAreResetForStats) {
  Desk desk;
  desk.post("/reset_counters");
  desk.control.shards[0].proxy.downstream_rq_total += 4;
  EXPECT_EQ(desk.get("/stats", "filter=^http.downstream_rq_total").body,
            "http.downstream_rq_total: 4\n");
  const std::string prometheus = desk.get("/stats/prometheus", "filter=http.downstream_rq_to").body;
  EXPECT_NE(prometheus.find("ringfence_http_downstream_rq_total{shard=\"0\"} 4\n"),
            std::string::npos);
}

TEST(CommandTest, LoggingListsAndChangesTheLevel) {
  Desk desk;
  EXPECT_EQ(desk.post("/logging", "level=debug").body, "active loggers:\n  ringfence: debug\n");
  EXPECT_EQ(desk.control.level, telemetry::LogLevel::debug);
  EXPECT_EQ(desk.post("/logging", "ringfence=off").status, 200);
  EXPECT_EQ(desk.control.level, telemetry::LogLevel::off);
  EXPECT_EQ(desk.post("/logging", "paths=ringfence:warning").status, 200);
  EXPECT_EQ(desk.post("/logging").body, "active loggers:\n  ringfence: warning\n");
}

TEST(CommandTest, AGracefulDrainIsAnsweredAtOnceAndGoesOnOnlyOnce) {
  Desk desk;
  desk.control.held = true;
  EXPECT_EQ(desk.post("/drain_listeners", "graceful").body, "OK\n");
  EXPECT_EQ(desk.background.size(), 1u);
  EXPECT_EQ(desk.post("/drain_listeners", "graceful").body, "OK\n");
  EXPECT_EQ(desk.control.asked, std::vector<std::string>{"drain gracefully"});
  desk.control.release();
  desk.reactor.runTurn(false);
  EXPECT_EQ(desk.background.size(), 0u);
}

TEST(CommandTest, QuittingIsLeftToWhoeverSendsTheAnswer) {
  Desk desk;
  EXPECT_TRUE(desk.post("/quitquitquit").then_quit);
  EXPECT_TRUE(desk.control.asked.empty());
}

TEST(CommandTest, AReloadReportsWhatItDid) {
  Desk desk;
  desk.control.next_reload.ok = true;
  desk.control.next_reload.version = 0x1f;
  desk.control.next_reload.changed = {"listeners[0].route_config"};
  const Reply fine = desk.post("/reload");
  EXPECT_EQ(fine.status, 200);
  EXPECT_EQ(fine.body, "loaded, version 000000000000001f\nchanged: listeners[0].route_config\n");
  EXPECT_EQ(desk.control.asked, std::vector<std::string>{"reload admin"});

  desk.control.next_reload.ok = false;
  desk.control.next_reload.errors = {"a.yaml:3:5: admin.adress: unknown field"};
  desk.control.next_reload.needs_restart = {"runtime.shards: 2 to 1"};
  const Reply bad = desk.post("/reload");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.body,
            "a.yaml:3:5: admin.adress: unknown field\nneeds a restart: runtime.shards: 2 to 1\n"
            "not loaded; version 000000000000001f stays in use\n");
  const Reply bad_json = desk.post("/reload", "format=json");
  EXPECT_EQ(bad_json.status, 400);
  EXPECT_EQ(textAt(parseJson(bad_json.body), "needs_restart.0"), "runtime.shards: 2 to 1");
}

TEST(CommandTest, TheLastAttemptToLoadComesFirst) {
  Desk desk;
  ReloadReport second = desk.control.attempts[0];
  second.number = 2;
  second.ok = false;
  second.errors = {"a.yaml:1:1: wrong"};
  desk.control.attempts.push_back(second);
  const Json json = parseJson(desk.get("/reload_status").body);
  EXPECT_EQ(textAt(json, "version"), "0000000000abcdef");
  EXPECT_FALSE(at(json, "last_ok").bool_value());
  EXPECT_EQ(numberAt(json, "attempts.0.number"), 2);
  EXPECT_EQ(textAt(json, "attempts.0.errors.0"), "a.yaml:1:1: wrong");
  EXPECT_EQ(textAt(json, "attempts.1.trigger"), "start");
}

TEST(CommandTest, FormsOfOtherSitesMayNotChangeAnything) {
  Desk desk;
  Request request;
  request.method = "POST";
  request.path = "/healthcheck/fail";
  request.host = "127.0.0.1:9901";
  request.origin = "http://evil.example";
  EXPECT_EQ(desk.ask(request).status, 403);
  request.origin = "null";
  EXPECT_EQ(desk.ask(request).status, 403);
  EXPECT_TRUE(desk.control.asked.empty());
  request.origin = "http://127.0.0.1:9901";
  EXPECT_EQ(desk.ask(request).status, 200);
}

}  // namespace
}  // namespace admin
