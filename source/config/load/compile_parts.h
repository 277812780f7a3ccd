// The compilers of single messages; compile.cc calls them in the order in which names are needed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/ringfence/config/v1/bootstrap.pb.h"
#include "source/config/load/checks.h"
#include "source/config/model/snapshot.h"

namespace config {

inline constexpr int kMaxListeners = 256;
inline constexpr int kMaxClusters = 4096;
inline constexpr int kMaxCaches = 64;
inline constexpr int kMaxAdditionalAddresses = 16;
inline constexpr int kMaxEndpoints = 1024;
inline constexpr int kMaxVirtualHosts = 4096;
inline constexpr int kMaxDomains = 4096;
inline constexpr int kMaxRoutes = 4096;
inline constexpr int kMaxMatchers = 64;
inline constexpr int kMaxHeaderChanges = 64;
inline constexpr int kMaxQueryNames = 256;
inline constexpr int kMaxStatusTtls = 64;
inline constexpr int kMaxRules = 64;
inline constexpr int kMaxRuleMethods = 16;
inline constexpr int kMaxTargetedFields = 8;
inline constexpr int kMaxKeyParts = 16;
inline constexpr int kMaxEncodings = 8;
inline constexpr int kMaxContentTypes = 64;
inline constexpr int kMaxLanguages = 64;
inline constexpr size_t kMaxDirectResponseBytes = 65536;
inline constexpr size_t kMaxHeaderNameBytes = 256;
inline constexpr size_t kMaxHeaderValueBytes = 8192;
inline constexpr int kMaxDisks = 16;
inline constexpr uint64_t kMaxStripesOfCache = 4096;
inline constexpr uint64_t kMinCacheBytes = uint64_t{16} << 20;
inline constexpr uint64_t kMaxCacheBytes = uint64_t{16} << 40;
inline constexpr uint64_t kDay_ms = 86400000;

// What routes refer to.
struct References {
  Names clusters;
  Names caches;
  const std::vector<CacheConfig>* cache_list = nullptr;
};

RuntimeConfig compileRuntime(const Place& place, const pb::Runtime& from);
RingConfig compileRing(const Place& place, const pb::Ring& from);
BusyPollConfig compileBusyPoll(const Place& place, const pb::BusyPoll& from);
LoggingConfig compileLogging(const Place& place, const pb::Logging& from);
ClusterConfig compileCluster(const Place& place, const pb::Cluster& from);
// The directories of all caches, to find out which are used twice.
class Directories {
 public:
  void add(const Place& place, const std::string& path, const std::string& cache);
  // Reports those that are, or lie in, others.
  void check() const;

 private:
  struct Directory {
    Place place;
    std::string cache;
  };
  std::map<std::string, std::vector<Directory>> by_path_;  // normalized, with a slash at the end
};
CacheConfig compileCache(const Place& place, const pb::Cache& from, Engine engine,
                         Directories& directories);
ListenerConfig compileListener(const Place& place, const pb::Listener& from,
                               References& references);

RouteTable compileRoutes(const Place& place, const pb::RouteConfiguration& from,
                         References& references);
RequestMatcher compileMatch(const Place& place, const pb::RouteMatch& from);
enum class RuleAbout : uint8_t { requests, responses };
CacheRule compileRule(const Place& place, const pb::CacheRule& from, RuleAbout about);
// The whole cache part of a route: its store and its policy.
void compilePolicy(const Place& place, const pb::CachePolicy& from, References& references,
                   Route& out);

// Appends removals, then additions. The two are the request's or the response's lists at `place`.
struct HeaderChanges {
  std::string_view add_field;
  const google::protobuf::RepeatedPtrField<pb::HeaderValueOption>& add;
  std::string_view remove_field;
  const google::protobuf::RepeatedPtrField<std::string>& remove;
};
void compileHeaders(const Place& place, const HeaderChanges& from,
                    std::vector<HeaderMutation>& out);

}  // namespace config
