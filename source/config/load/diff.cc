#include "source/config/load/diff.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace config {
namespace {

class Differ {
 public:
  explicit Differ(Difference& out) : out_(out) {}

  enum class Effect { reload, restart };

  void note(std::string path, std::string what, Effect effect) {
    if (effect == Effect::restart) {
      out_.needs_restart.push_back({path, what});
    }
    out_.changed.push_back({std::move(path), std::move(what)});
  }

  template <class T>
  void compare(const T& before, const T& after, std::string path, Effect effect) {
    if (!(before == after)) {
      note(std::move(path), "changed", effect);
    }
  }

  void numbers(uint64_t before, uint64_t after, std::string path, Effect effect) {
    if (before != after) {
      note(std::move(path),
           "changed from " + std::to_string(before) + " to " + std::to_string(after), effect);
    }
  }

  // Elements by name: added, removed, or handed to `each` with their path.
  template <class T, class Each>
  void lists(const std::vector<T>& before, const std::vector<T>& after, const std::string& path,
             Effect effect, Each each) {
    for (size_t i = 0; i < after.size(); i++) {
      const T* old = find(before, after[i].name);
      if (old == nullptr) {
        note(at(path, after[i].name), "added", effect);
      } else {
        each(*old, after[i], at(path, after[i].name));
      }
    }
    for (size_t i = 0; i < before.size(); i++) {
      if (find(after, before[i].name) == nullptr) {
        note(at(path, before[i].name), "removed", effect);
      }
    }
  }

 private:
  static std::string at(const std::string& path, const std::string& name) {
    return path + "[" + name + "]";
  }

  template <class T>
  static const T* find(const std::vector<T>& list, const std::string& name) {
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const T& item) { return item.name == name; });
    return found == list.end() ? nullptr : &*found;
  }

  Difference& out_;
};

using Effect = Differ::Effect;

void diffRuntime(const RuntimeConfig& before, const RuntimeConfig& after, Differ& differ) {
  differ.numbers(before.shards, after.shards, "runtime.shards", Effect::restart);
  differ.compare(before.engine, after.engine, "runtime.engine", Effect::restart);
  differ.compare(before.drain_time_ms, after.drain_time_ms, "runtime.drain_time", Effect::reload);
  differ.numbers(before.max_connections_per_shard, after.max_connections_per_shard,
                 "runtime.max_connections_per_shard", Effect::restart);
  differ.numbers(before.buffer_pool_bytes_per_shard, after.buffer_pool_bytes_per_shard,
                 "runtime.buffer_pool_bytes_per_shard", Effect::restart);
  differ.compare(before.ring, after.ring, "runtime.ring", Effect::restart);
  differ.compare(before.busy_poll, after.busy_poll, "runtime.busy_poll", Effect::restart);
  differ.compare(before.max_disk_reads_per_shard, after.max_disk_reads_per_shard,
                 "runtime.max_disk_reads_per_shard", Effect::restart);
}

void diffListener(const ListenerConfig& before, const ListenerConfig& after,
                  const std::string& path, Differ& differ) {
  if (before == after) {
    return;
  }
  differ.compare(before.addresses, after.addresses, path + ".address", Effect::reload);
  differ.compare(before.steering, after.steering, path + ".steering", Effect::reload);
  differ.numbers(before.backlog, after.backlog, path + ".tcp_backlog_size", Effect::reload);
  differ.numbers(before.max_request_head_bytes / 1024, after.max_request_head_bytes / 1024,
                 path + ".max_request_headers_kb", Effect::reload);
  differ.numbers(before.max_headers, after.max_headers, path + ".max_headers_count",
                 Effect::reload);
  differ.compare(before.request_headers_timeout_ms, after.request_headers_timeout_ms,
                 path + ".request_headers_timeout", Effect::reload);
  differ.compare(before.stream_idle_timeout_ms, after.stream_idle_timeout_ms,
                 path + ".stream_idle_timeout", Effect::reload);
  differ.compare(before.idle_timeout_ms, after.idle_timeout_ms, path + ".idle_timeout",
                 Effect::reload);
  differ.numbers(before.max_requests_per_connection, after.max_requests_per_connection,
                 path + ".max_requests_per_connection", Effect::reload);
  differ.compare(before.via, after.via, path + ".via", Effect::reload);
  differ.compare(before.cdn_loop, after.cdn_loop, path + ".cdn_loop", Effect::reload);
  differ.numbers(before.max_loops, after.max_loops, path + ".max_loops", Effect::reload);
  differ.compare(before.balance_connections, after.balance_connections,
                 path + ".connection_balance_config", Effect::reload);
  differ.compare(before.routes, after.routes, path + ".route_config", Effect::reload);
}

// Disks are told apart by their paths.
void diffDisks(const std::vector<DiskConfig>& before, const std::vector<DiskConfig>& after,
               const std::string& path, Differ& differ) {
  const auto fieldOf = [&path](const DiskConfig& disk) {
    return disk.listed ? path + ".disks[" + disk.path + "]" : path + ".path";
  };
  for (const DiskConfig& disk : after) {
    const auto old = std::ranges::find(before, disk.path, &DiskConfig::path);
    if (old == before.end()) {
      differ.note(fieldOf(disk), "added" + (disk.listed ? "" : ": " + disk.path), Effect::reload);
      continue;
    }
    differ.numbers(old->max_size_bytes, disk.max_size_bytes,
                   (disk.listed ? fieldOf(disk) : path) + ".max_size_bytes", Effect::reload);
  }
  for (const DiskConfig& disk : before) {
    if (std::ranges::find(after, disk.path, &DiskConfig::path) == after.end()) {
      differ.note(fieldOf(disk), "removed" + (disk.listed ? "" : ": " + disk.path), Effect::reload);
    }
  }
}

void diffCache(const CacheConfig& before, const CacheConfig& after, const std::string& path,
               Differ& differ) {
  diffDisks(before.disks, after.disks, path, differ);
  differ.numbers(before.memory_bytes, after.memory_bytes, path + ".memory_bytes", Effect::reload);
  differ.compare(before.disk_io, after.disk_io, path + ".disk_io", Effect::restart);
  differ.compare(before.direct_io, after.direct_io, path + ".direct_io", Effect::restart);
  // By default it follows from the disks there are at the start.
  if (before.max_object_bytes_given || after.max_object_bytes_given) {
    differ.numbers(before.max_object_bytes, after.max_object_bytes, path + ".max_object_bytes",
                   Effect::reload);
  }
  differ.numbers(before.stripes, after.stripes, path + ".stripes", Effect::restart);
  differ.numbers(before.segment_bytes, after.segment_bytes, path + ".segment_bytes",
                 Effect::restart);
  differ.compare(before.tags, after.tags, path + ".tags", Effect::reload);
  differ.numbers(before.scrub_bytes_per_second, after.scrub_bytes_per_second,
                 path + ".scrub_bytes_per_second", Effect::reload);
  differ.compare(before.admission.policy, after.admission.policy, path + ".admission.policy",
                 Effect::restart);
  differ.numbers(before.admission.write_bytes_per_second, after.admission.write_bytes_per_second,
                 path + ".admission.write_bytes_per_second", Effect::restart);
}

}  // namespace

Difference diff(const Snapshot& before, const Snapshot& after) {
  Difference out;
  Differ differ(out);
  differ.compare(before.admin, after.admin, "admin.address", Effect::restart);
  diffRuntime(before.runtime, after.runtime, differ);
  differ.compare(before.logging.level, after.logging.level, "logging.level", Effect::reload);
  differ.compare(before.logging.path, after.logging.path, "logging.path", Effect::reload);
  differ.compare(before.logging.access_log, after.logging.access_log, "logging.access_log",
                 Effect::reload);
  differ.lists(before.listeners, after.listeners, "static_resources.listeners", Effect::reload,
               [&differ](const auto& old, const auto& now, const std::string& path) {
                 diffListener(old, now, path, differ);
               });
  differ.lists(before.clusters, after.clusters, "static_resources.clusters", Effect::reload,
               [&differ](const auto& old, const auto& now, const std::string& path) {
                 differ.compare(old, now, path, Effect::reload);
               });
  differ.lists(before.caches, after.caches, "static_resources.caches", Effect::reload,
               [&differ](const auto& old, const auto& now, const std::string& path) {
                 diffCache(old, now, path, differ);
               });
  return out;
}

}  // namespace config
