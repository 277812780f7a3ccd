#include "source/config/load/compile.h"

#include <algorithm>
#include <map>
#include <utility>

#include "source/config/load/compile_parts.h"

namespace config {
namespace {

// The order of caches in the text means nothing; by name, an index into them survives a reload.
void compileCaches(const Place& list, const pb::StaticResources& from, Snapshot& out) {
  Names names;
  Directories directories;
  const int count = countWithin(list, from.caches_size(), kMaxCaches);
  for (int i = 0; i < count; i++) {
    const pb::Cache& cache = from.caches(i);
    const Place place = list[i];
    names.add(place, cache.name(), "cache", static_cast<uint32_t>(i));
    out.caches.push_back(compileCache(place, cache, out.runtime.engine, directories));
  }
  directories.check();
  std::sort(out.caches.begin(), out.caches.end(),
            [](const CacheConfig& a, const CacheConfig& b) { return a.name < b.name; });
}

void compileClusters(const Place& list, const pb::StaticResources& from, References& references,
                     Snapshot& out) {
  const int count = countWithin(list, from.clusters_size(), kMaxClusters);
  for (int i = 0; i < count; i++) {
    references.clusters.add(list[i], from.clusters(i).name(), "cluster", static_cast<uint32_t>(i));
    out.clusters.push_back(compileCluster(list[i], from.clusters(i)));
  }
}

std::string spelling(const SocketAddress& address) {
  return address.host + " port " + std::to_string(address.port);
}

// Two sockets cannot share an address, unless the kernel chooses the port.
void checkAddresses(const Place& root, const Snapshot& snapshot) {
  std::map<std::string, std::string> owners;
  if (snapshot.admin.has_value() && snapshot.admin->port != 0) {
    owners.emplace(spelling(*snapshot.admin), "the admin");
  }
  const Place list = root["static_resources"]["listeners"];
  for (size_t i = 0; i < snapshot.listeners.size(); i++) {
    const ListenerConfig& listener = snapshot.listeners[i];
    for (size_t j = 0; j < listener.addresses.size(); j++) {
      const SocketAddress& address = listener.addresses[j];
      const auto [at, is_new] =
          owners.emplace(spelling(address), "listener `" + listener.name + "`");
      if (!is_new && address.port != 0) {
        const Place place = list[static_cast<int>(i)];
        const Place at_fault =
            j == 0 ? place["address"]
                   : place["additional_addresses"][static_cast<int>(j - 1)]["address"];
        at_fault.error(at->second + " listens on " + spelling(address) + " as well");
      }
    }
  }
}

void warnUnused(const Place& resources, const pb::StaticResources& from,
                const References& references) {
  for (int i = 0; i < from.clusters_size(); i++) {
    const auto index = references.clusters.find(from.clusters(i).name());
    if (index.has_value() && !references.clusters.used(*index)) {
      resources["clusters"][i].warning("no route uses this cluster");
    }
  }
  for (int i = 0; i < from.caches_size(); i++) {
    const auto index = references.caches.find(from.caches(i).name());
    if (index.has_value() && !references.caches.used(*index)) {
      resources["caches"][i].warning("no route uses this cache");
    }
  }
}

}  // namespace

void compile(const pb::Bootstrap& from, Reporter& reporter, Snapshot& out) {
  const Place root(reporter, "");
  out.runtime = compileRuntime(root["runtime"], from.runtime());
  out.logging = compileLogging(root["logging"], from.logging());
  if (from.has_admin()) {
    const Place place = root["admin"]["address"];
    out.admin = compileAddress(
        place, from.admin().has_address() ? &from.admin().address() : nullptr, AddressRule{});
  }
  const pb::StaticResources& resources = from.static_resources();
  const Place place = root["static_resources"];
  compileCaches(place["caches"], resources, out);
  References references;
  references.cache_list = &out.caches;
  for (size_t i = 0; i < out.caches.size(); i++) {
    references.caches.addKnown(out.caches[i].name, static_cast<uint32_t>(i));
  }
  compileClusters(place["clusters"], resources, references, out);
  const Place listeners = place["listeners"];
  if (resources.listeners_size() == 0) {
    listeners.missing("at least one listener is required");
  }
  const int count = countWithin(listeners, resources.listeners_size(), kMaxListeners);
  Names listener_names;
  for (int i = 0; i < count; i++) {
    listener_names.add(listeners[i], resources.listeners(i).name(), "listener",
                       static_cast<uint32_t>(i));
    out.listeners.push_back(compileListener(listeners[i], resources.listeners(i), references));
  }
  checkAddresses(root, out);
  warnUnused(place, resources, references);
}

}  // namespace config
