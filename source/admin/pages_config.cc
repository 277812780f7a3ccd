// The configuration in use and what it describes: listeners, clusters, reloads.
#include <algorithm>

#include "source/admin/figures.h"
#include "source/admin/json.h"
#include "source/admin/metrics.h"
#include "source/admin/pages.h"

namespace admin {
namespace {

// "127.0.0.1:80" or "[::1]:80" in its two parts.
struct HostPort {
  std::string_view host;
  std::string_view port;
};
HostPort splitAddress(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) {
    return {address, {}};
  }
  std::string_view host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return {host, address.substr(colon + 1)};
}

void writeAddress(JsonWriter& out, std::string_view name, std::string_view address) {
  const HostPort parts = splitAddress(address);
  out.beginObject(name);
  out.beginObject("socket_address");
  out.member("address", parts.host);
  out.key("port_value");
  out.raw(parts.port.empty() ? "0" : parts.port);
  out.endObject();
  out.endObject();
}

constexpr std::string_view kEndpointStats[] = {"cx_connect_fail", "cx_total",   "rq_error",
                                               "rq_success",      "rq_timeout", "rq_total"};

uint64_t endpointStat(const EndpointSum& endpoint, std::string_view name) {
  for (const Figure<upstream::EndpointStats>& figure : endpointFigures()) {
    if (figure.name == name) {
      return endpoint.stats.*figure.member;
    }
  }
  return 0;
}

const config::ClusterConfig* findConfig(const config::Snapshot& snapshot, std::string_view name) {
  const auto at = std::ranges::find(snapshot.clusters, name, &config::ClusterConfig::name);
  return at == snapshot.clusters.end() ? nullptr : &*at;
}

// A host name as configured, where the cluster has one and the same for all endpoints.
std::string_view hostNameOf(const config::ClusterConfig* config) {
  const bool one = config != nullptr && config->discovery == config::Discovery::strict_dns &&
                   config->endpoints.size() == 1;
  return one ? std::string_view(config->endpoints.front().address.host) : std::string_view();
}

std::string clusterText(const ClusterSum& cluster, const config::ClusterConfig* config) {
  std::string out;
  const auto line = [&out, &cluster](std::string_view where, std::string_view name,
                                     std::string_view value) {
    out += cluster.name;
    for (const std::string_view part : {where, name, value}) {
      out += "::";
      out += part;
    }
    out += "\n";
  };
  out += cluster.name + "::observability_name::" + cluster.name + "\n";
  if (config != nullptr) {
    line("default_priority", "max_connections", std::to_string(config->max_connections));
    line("default_priority", "max_pending_requests", std::to_string(config->max_pending_requests));
    line("default_priority", "max_requests", std::to_string(config->max_requests));
  }
  out += cluster.name + "::added_via_api::false\n";
  for (const EndpointSum& endpoint : cluster.endpoints) {
    line(endpoint.address, "cx_active", std::to_string(endpoint.cx_active));
    for (const std::string_view name : kEndpointStats) {
      line(endpoint.address, name, std::to_string(endpointStat(endpoint, name)));
    }
    line(endpoint.address, "rq_active", std::to_string(endpoint.rq_active));
    line(endpoint.address, "hostname", hostNameOf(config));
    line(endpoint.address, "health_flags", endpoint.healthy ? "healthy" : "/failed_outlier_check");
    line(endpoint.address, "weight", std::to_string(endpoint.weight));
  }
  return out;
}

void writeStat(JsonWriter& out, std::string_view name, uint64_t value, bool is_gauge) {
  out.beginObject();
  if (is_gauge) {
    out.member("type", "GAUGE");  // COUNTER is the default, which proto JSON leaves out
  }
  out.member("name", name);
  if (value != 0) {
    out.member("value", std::to_string(value));
  }
  out.endObject();
}

void writeHost(JsonWriter& out, const EndpointSum& endpoint, std::string_view host_name) {
  out.beginObject();
  writeAddress(out, "address", endpoint.address);
  out.beginArray("stats");
  for (const std::string_view name : kEndpointStats) {
    writeStat(out, name, endpointStat(endpoint, name), false);
  }
  writeStat(out, "cx_active", endpoint.cx_active, true);
  writeStat(out, "rq_active", endpoint.rq_active, true);
  out.endArray();
  out.beginObject("health_status");
  if (!endpoint.healthy) {
    out.member("failed_outlier_check", true);
  }
  out.member("eds_health_status", "HEALTHY");
  out.endObject();
  out.member("weight", endpoint.weight);
  if (!host_name.empty()) {
    out.member("hostname", host_name);
  }
  out.endObject();
}

void writeCluster(JsonWriter& out, const ClusterSum& cluster, const config::ClusterConfig* config) {
  out.beginObject();
  out.member("name", cluster.name);
  out.member("observability_name", cluster.name);
  out.beginArray("host_statuses");
  for (const EndpointSum& endpoint : cluster.endpoints) {
    writeHost(out, endpoint, hostNameOf(config));
  }
  out.endArray();
  if (config != nullptr) {
    out.beginObject("circuit_breakers");
    out.beginArray("thresholds");
    out.beginObject();
    out.member("max_connections", config->max_connections);
    out.member("max_pending_requests", config->max_pending_requests);
    out.member("max_requests", config->max_requests);
    out.endObject();
    out.endArray();
    out.endObject();
  }
  out.endObject();
}

void writeLines(JsonWriter& out, std::string_view name, const std::vector<std::string>& lines) {
  out.beginArray(name);
  for (const std::string& line : lines) {
    out.string(line);
  }
  out.endArray();
}

void writeReport(JsonWriter& out, const ReloadReport& report) {
  out.beginObject();
  out.member("number", report.number);
  out.member("at", formatTime(report.at_unix_s));
  out.member("trigger", report.trigger);
  out.member("ok", report.ok);
  out.member("took_ms", report.took_ms);
  out.member("version", formatVersion(report.version));
  writeLines(out, "errors", report.errors);
  writeLines(out, "needs_restart", report.needs_restart);
  writeLines(out, "changed", report.changed);
  writeLines(out, "warnings", report.warnings);
  out.endObject();
}

std::string reportText(const ReloadReport& report) {
  std::string out;
  const auto lines = [&out](std::string_view before, const std::vector<std::string>& all) {
    for (const std::string& line : all) {
      out += std::string(before) + line + "\n";
    }
  };
  if (report.ok) {
    out += report.changed.empty() ? "nothing has changed" : "loaded";
    out += ", version " + formatVersion(report.version) + "\n";
    lines("changed: ", report.changed);
    lines("warning: ", report.warnings);
    return out;
  }
  lines("", report.errors);
  lines("needs a restart: ", report.needs_restart);
  lines("warning: ", report.warnings);
  return out + "not loaded; version " + formatVersion(report.version) + " stays in use\n";
}

}  // namespace

Reply configDumpPage(Context& context, const Arguments&) {
  JsonWriter out;
  out.beginObject();
  out.beginArray("configs");
  out.beginObject();
  out.member("@type", "type.googleapis.com/ringfence.config.v1.BootstrapConfigDump");
  out.key("bootstrap");
  out.raw(context.control.bootstrapJson());
  out.member("last_updated", formatTime(context.control.configLoadedUnixS()));
  out.member("version_info", formatVersion(context.control.snapshot().version));
  out.endObject();
  out.endArray();
  out.endObject();
  return json(out.take());
}

namespace {

// Of all addresses of the listener together.
void writeAccepted(JsonWriter& out, std::string_view name,
                   const std::vector<shard::ShardStats>& shards) {
  uint64_t accepted = 0;
  uint64_t moved = 0;
  for (const shard::ShardStats& stats : shards) {
    for (const shard::ListenerStats& listener : stats.listeners) {
      accepted += listener.name == name ? listener.acceptor.accepted : 0;
      moved += listener.name == name ? listener.acceptor.moved_out : 0;
    }
  }
  out.member("connections_accepted", accepted);
  out.member("connections_moved", moved);
}

}  // namespace

rt::Task<Reply> listenersPage(Context& context, const Arguments& arguments) {
  const std::vector<ListenerInfo> listeners = context.control.listeners();
  if (!wantsJson(arguments)) {
    std::string out;
    for (const ListenerInfo& listener : listeners) {
      out += listener.name + "::" + listener.address + "\n";
    }
    co_return text(200, std::move(out));
  }
  const std::vector<shard::ShardStats> shards = co_await context.control.collectStats();
  JsonWriter out;
  out.beginObject();
  out.beginArray("listener_statuses");
  for (const ListenerInfo& listener : listeners) {
    out.beginObject();
    out.member("name", listener.name);
    writeAddress(out, "local_address", listener.address);
    out.member("steering", listener.steering);
    out.member("connection_balance", listener.balances ? "exact_balance" : "none");
    writeAccepted(out, listener.name, shards);
    out.endObject();
  }
  out.endArray();
  out.endObject();
  co_return json(out.take());
}

rt::Task<Reply> clustersPage(Context& context, const Arguments& arguments) {
  const std::vector<shard::ShardStats> shards = co_await context.control.collectStats();
  const std::vector<ClusterSum> clusters = sumClusters(shards);
  const config::Snapshot& snapshot = context.control.snapshot();
  if (!wantsJson(arguments)) {
    std::string out;
    for (const ClusterSum& cluster : clusters) {
      out += clusterText(cluster, findConfig(snapshot, cluster.name));
    }
    co_return text(200, std::move(out));
  }
  JsonWriter out;
  out.beginObject();
  out.beginArray("cluster_statuses");
  for (const ClusterSum& cluster : clusters) {
    writeCluster(out, cluster, findConfig(snapshot, cluster.name));
  }
  out.endArray();
  out.endObject();
  co_return json(out.take());
}

rt::Task<Reply> reloadPage(Context& context, const Arguments& arguments) {
  const ReloadReport report = co_await context.control.reload("admin");
  const uint16_t status = report.ok ? 200 : 400;
  if (!wantsJson(arguments)) {
    co_return text(status, reportText(report));
  }
  JsonWriter out;
  writeReport(out, report);
  co_return Reply{status, kJson, out.take()};
}

Reply reloadStatusPage(Context& context, const Arguments&) {
  const std::vector<ReloadReport>& reloads = context.control.reloads();
  JsonWriter out;
  out.beginObject();
  out.member("version", formatVersion(context.control.snapshot().version));
  out.member("loaded_at", formatTime(context.control.configLoadedUnixS()));
  if (!reloads.empty()) {
    out.member("last_ok", reloads.back().ok);
  }
  out.beginArray("attempts");
  for (auto report = reloads.rbegin(); report != reloads.rend(); ++report) {
    writeReport(out, *report);
  }
  out.endArray();
  out.endObject();
  return json(out.take());
}

}  // namespace admin
