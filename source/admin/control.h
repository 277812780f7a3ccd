// What the admin may ask of the process. Implemented by server/ on the control thread; every answer
// that needs the shards is awaited, and none of them ever waits for the admin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "source/config/model/snapshot.h"
#include "source/http/head.h"
#include "source/rt/task.h"
#include "source/shard/messages.h"
#include "source/shard/stats.h"
#include "source/telemetry/log_ring.h"

namespace admin {

// Envoy's server states.
enum class State : uint8_t { live, draining, pre_initializing, initializing };

struct ServerInfo {
  State state = State::initializing;
  std::string version;
  uint64_t uptime_s = 0;
  uint16_t shards = 0;
  std::string engine;                                                // "IO_URING"
  std::string engine_reason;                                         // why it was chosen
  std::vector<std::pair<std::string, std::string>> engine_settings;  // name, what is in force
  std::vector<std::pair<std::string, std::string>> command_line;     // flag (snake_case), value
};

struct ListenerInfo {
  std::string name;
  std::string address;    // with the real port
  std::string steering;   // what is in force and why
  bool balances = false;  // connections are handed over to shards with fewer
};

// A directory of a cache that the configuration names.
struct DiskInfo {
  std::string cache;
  std::string path;
  uint64_t max_size_bytes = 0;
  std::string why_not;    // a sentence; empty: it is used
  uint64_t failures = 0;  // times that it could not be opened
  bool leaving = false;   // the configuration no longer names it, but requests still use it
};

// One attempt to load a configuration.
struct ReloadReport {
  uint64_t number = 0;  // counts attempts, from 1; the start is 1
  int64_t at_unix_s = 0;
  bool ok = false;
  std::string trigger;   // "start", "signal", "admin", "file"
  uint64_t version = 0;  // of the configuration that is in use now
  uint64_t took_ms = 0;
  std::vector<std::string> errors;  // a line each: file:line:column: path: message
  std::vector<std::string> warnings;
  std::vector<std::string> needs_restart;  // field paths and what changed: refused
  std::vector<std::string> changed;
};

struct PurgeRequest {
  std::string cache;
  // At most one; with none of them everything.
  std::optional<std::string> url;     // absolute
  std::optional<std::string> prefix;  // absolute
  std::optional<std::string> tag;
  bool soft = false;
};
struct PurgeReport {
  bool ok = false;
  std::string error;  // a sentence
  uint64_t purged = 0;
};

struct ListRequest {
  std::string cache;
  std::optional<std::string> prefix;  // absolute
  std::optional<std::string> tag;
  std::string after;  // ListReport::next of the page before
  uint32_t limit = 0;
};
struct ListReport {
  std::string error;  // not empty: a sentence; nothing else is set
  std::vector<cache::ListedObject> objects;
  std::string next;  // empty: that was the last page
};

struct LookupReport {
  std::string error;     // not empty: a sentence; nothing else is set
  std::string key;       // the primary key looked for
  std::string listener;  // the first whose routes would take the URL to the cache; empty: none
  std::string virtual_host;
  std::string route;  // its name, or "routes[N]"
  uint16_t owner_shard = 0;
  uint16_t stripe = 0;
  // What was found: the fields of shard::LookupObject that are replies.
  cache::Found found = cache::Found::absent;
  bool in_memory = false;
  bool large = false;
  uint64_t block_bytes = 0;
  bool stale_now = false;
  std::string stored_key;
  std::string vary;            // names, joined by commas
  std::string no_vary_search;  // of the path, as a field would say it; empty: none in force
  uint16_t status = 0;
  std::string head;
  policy::Times times;
  policy::Traits traits;
  std::optional<uint64_t> length;
  std::string freshness_source;  // a policy::LifetimeSource name
  std::string freshness_field;   // the targeted field that governs; empty: Cache-Control, Expires
  std::string not_stored;        // of a hit-for-miss note: a policy::NoStoreReason name
  std::string would;             // what a GET would get now: a policy::Serve name, or "bypass"
  std::string why;  // why not fresh: a policy::NoReuseReason name, or a policy::BypassReason
};

class Control {
 public:
  virtual ~Control() = default;

  virtual ServerInfo info() = 0;
  virtual const config::Snapshot& snapshot() = 0;
  // The configuration as it was read: proto3 JSON of ringfence.config.v1.Bootstrap.
  virtual const std::string& bootstrapJson() = 0;
  virtual int64_t configLoadedUnixS() = 0;
  virtual std::vector<ListenerInfo> listeners() = 0;
  virtual std::vector<DiskInfo> disks() = 0;
  virtual const std::vector<ReloadReport>& reloads() = 0;  // the last 32, oldest first

  // One entry a shard, in order.
  virtual rt::Task<std::vector<shard::ShardStats>> collectStats() = 0;
  virtual rt::Task<ReloadReport> reload(std::string trigger) = 0;
  virtual rt::Task<PurgeReport> purge(PurgeRequest request) = 0;
  virtual rt::Task<ListReport> list(ListRequest request) = 0;
  // headers: name, value.
  virtual rt::Task<LookupReport> lookup(
      std::string cache, std::string url,
      std::vector<std::pair<std::string, std::string>> headers) = 0;

  virtual telemetry::LogLevel logLevel() = 0;
  virtual void setLogLevel(telemetry::LogLevel level) = 0;
  // Health checks fail, and /ready says DRAINING, until it is called with false.
  virtual void failHealthcheck(bool fail) = 0;
  // Stops accepting; with graceful, only after drain_time, and responses say Connection: close
  // meanwhile.
  virtual rt::Task<void> drainListeners(bool graceful) = 0;
  virtual void quit() = 0;
};

}  // namespace admin
