// A process that the admin can be tested against: it answers what it is told to, and notes what it
// was asked.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "source/admin/control.h"
#include "source/rt/wait.h"

namespace admin {

class FakeControl : public Control {
 public:
  FakeControl();

  ServerInfo info() override { return server; }
  const config::Snapshot& snapshot() override { return config; }
  const std::string& bootstrapJson() override { return bootstrap; }
  int64_t configLoadedUnixS() override { return 1700000000; }
  std::vector<ListenerInfo> listeners() override { return listening; }
  std::vector<DiskInfo> disks() override { return directories; }
  const std::vector<ReloadReport>& reloads() override { return attempts; }
  rt::Task<std::vector<shard::ShardStats>> collectStats() override;
  rt::Task<ReloadReport> reload(std::string trigger) override;
  rt::Task<PurgeReport> purge(PurgeRequest request) override;
  rt::Task<ListReport> list(ListRequest request) override;
  rt::Task<LookupReport> lookup(std::string cache, std::string url,
                                std::vector<std::pair<std::string, std::string>> headers) override;
  telemetry::LogLevel logLevel() override { return level; }
  void setLogLevel(telemetry::LogLevel l) override { level = l; }
  void failHealthcheck(bool fail) override;
  rt::Task<void> drainListeners(bool graceful) override;
  void quit() override { asked.push_back("quit"); }

  // Lets those go that wait since `held` was set.
  void release() {
    held = false;
    waiting.wakeAll();
  }

  ServerInfo server;
  config::Snapshot config;
  std::string bootstrap = "{\"admin\":{\"address\":{}}}";
  std::vector<ListenerInfo> listening;
  std::vector<DiskInfo> directories;
  std::vector<ReloadReport> attempts;
  std::vector<shard::ShardStats> shards;
  ReloadReport next_reload;
  PurgeReport next_purge{true, "", 3};
  ListReport next_list;
  LookupReport next_lookup;
  telemetry::LogLevel level = telemetry::LogLevel::info;
  std::vector<std::string> asked;  // what was asked, in words
  bool held = false;               // collectStats and drains wait
  rt::WaitQueue waiting;
  rt::CancelScope never;
};

// Two shards, one listener, one cluster with two endpoints, one cache, with figures that are easy
// to tell apart.
std::vector<shard::ShardStats> twoShards();

}  // namespace admin
