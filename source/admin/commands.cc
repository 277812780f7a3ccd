// The table of commands.
#include "source/admin/command.h"
#include "source/admin/pages.h"

namespace admin {
namespace {

template <Reply (*kPage)(Context&, const Arguments&)>
rt::Task<Reply> plain(Context& context, const Arguments& arguments) {
  co_return kPage(context, arguments);
}

using Kind = Parameter::Kind;

constexpr std::string_view kTextJson[] = {"text", "json"};
constexpr std::string_view kOne[] = {"1"};
constexpr std::string_view kZeroOne[] = {"0", "1"};
constexpr std::string_view kLevels[] = {"trace", "debug",    "info", "warning",
                                        "error", "critical", "off"};

constexpr Parameter kFormat[] = {{"format", Kind::choice, "How to write it", kTextJson}};

constexpr Parameter kStats[] = {
    {"format", Kind::value, "One of (text, json, prometheus)", {}},
    {"filter", Kind::value, "Regular expression (RE2) that a name has somewhere", {}},
    {"usedonly", Kind::flag, "Only what is not 0", {}},
    {"type", Kind::value, "One of (Counters, Gauges, Histograms, TextReadouts, All)", {}},
};
constexpr Parameter kPrometheusParameters[] = {
    {"filter", Kind::value, "Regular expression (RE2) that a name has somewhere", {}},
    {"usedonly", Kind::flag, "Only what is not 0", {}},
};
constexpr Parameter kLogging[] = {
    {"level", Kind::choice, "New level of every logger", kLevels},
    {"paths", Kind::value, "Levels by logger, as ringfence:debug", {}},
    {"ringfence", Kind::choice, "New level of this logger", kLevels},
};
constexpr Parameter kDrain[] = {
    {"graceful", Kind::flag, "Go on accepting for the drain time, and ask clients to leave", {}},
    {"skip_exit", Kind::flag, "With graceful; accepted as Envoy's", {}},
    {"inboundonly", Kind::flag, "All listeners are inbound; accepted as Envoy's", {}},
};
constexpr Parameter kPurge[] = {
    {"cache", Kind::value, "Name of the cache; may be left out if there is only one", {}},
    {"url", Kind::value, "Absolute URL of the object, with all its variants", {}},
    {"prefix", Kind::value, "Absolute URL that objects begin with", {}},
    {"tag", Kind::value, "Tag that objects carry", {}},
    {"all", Kind::choice, "Everything", kOne},
    {"soft", Kind::choice, "Keep it as stale", kZeroOne},
    {"format", Kind::choice, "How to write the answer", kTextJson},
};
constexpr Parameter kObjects[] = {
    {"cache", Kind::value, "Name of the cache; may be left out if there is only one", {}},
    {"prefix", Kind::value, "Absolute URL that objects begin with", {}},
    {"tag", Kind::value, "Tag that objects carry", {}},
    {"limit", Kind::value, "Most objects of a page, from 1 to 1000; 100 if left out", {}},
    {"after", Kind::value, "The `next` of the page before", {}},
};
constexpr Parameter kLookup[] = {
    {"cache", Kind::value, "Name of the cache; may be left out if there is only one", {}},
    {"url", Kind::value, "Absolute URL of the object", {}},
    {"header", Kind::repeated, "A request's header field, as Name:value; as many as needed", {}},
};

constexpr Command kCommands[] = {
    {"/", "Admin home page", false, {}, false, plain<homePage>},
    {"/cache", "what each cache holds, over all shards", false, kFormat, false, cachePage},
    {"/cache/lookup", "whether a URL is cached, and how it would be answered", false, kLookup,
     false, lookupPage},
    {"/cache/objects", "what a cache holds, a page at a time", false, kObjects, false, objectsPage},
    {"/cache/purge", "remove objects from a cache, durably and on every shard", true, kPurge, false,
     purgePage},
    {"/certs", "print certs on machine", false, {}, false, plain<certsPage>},
    {"/clusters", "upstream cluster status", false, kFormat, false, clustersPage},
    {"/config_dump", "the configuration in use", false, {}, false, plain<configDumpPage>},
    {"/drain_listeners", "drain listeners", true, kDrain, false, drainListenersPage},
    {"/healthcheck/fail",
     "cause the server to fail health checks",
     true,
     {},
     false,
     plain<failHealthPage>},
    {"/healthcheck/ok",
     "cause the server to pass health checks",
     true,
     {},
     false,
     plain<passHealthPage>},
    {"/help", "print out list of admin commands", false, {}, false, plain<helpPage>},
    {"/listeners", "print listener info", false, kFormat, false, listenersPage},
    {"/logging", "query/change logging levels", true, kLogging, true, plain<loggingPage>},
    {"/memory", "print current allocation/heap usage", false, {}, false, plain<memoryPage>},
    {"/quitquitquit", "exit the server", true, {}, false, plain<quitPage>},
    {"/ready",
     "print server state, return 200 if LIVE, otherwise return 503",
     false,
     {},
     false,
     plain<readyPage>},
    {"/reload", "load the configuration again", true, kFormat, false, reloadPage},
    {"/reload_status",
     "the last attempts to load a configuration",
     false,
     {},
     false,
     plain<reloadStatusPage>},
    {"/reset_counters", "reset all counters to zero", true, {}, false, resetCountersPage},
    {"/server_info",
     "print server version/status information",
     false,
     {},
     false,
     plain<serverInfoPage>},
    {"/shards", "what each shard does: connections, I/O, index, calls", false, kFormat, false,
     shardsPage},
    {"/stats", "print server stats", false, kStats, false, statsPage},
    {"/stats/prometheus", "print server stats in prometheus format", false, kPrometheusParameters,
     false, prometheusPage},
};

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

}  // namespace admin
