// /stats and its kin.
#include <re2/re2.h>

#include "source/admin/exposition.h"
#include "source/admin/metrics.h"
#include "source/admin/pages.h"

namespace admin {
namespace {

constexpr std::string_view kFormats = "usage: /stats?format=(json|prometheus|text)\n";
constexpr std::string_view kTypes =
    "usage: /stats?type=(Counters|Gauges|Histograms|TextReadouts|All)\n";
constexpr int64_t kFilterMemory_bytes = 1 << 20;

std::optional<Types> parseTypes(std::string_view text) {
  if (text.empty() || text == "All") {
    return Types::all;
  }
  if (text == "Counters") {
    return Types::counters;
  }
  if (text == "Gauges") {
    return Types::gauges;
  }
  if (text == "Histograms") {
    return Types::histograms;
  }
  return text == "TextReadouts" ? std::optional(Types::text_readouts) : std::nullopt;
}

ProcessFigures processFigures(Context& context) {
  const ServerInfo info = context.control.info();
  const std::vector<ReloadReport>& reloads = context.control.reloads();
  const Memory memory = readMemory();
  ProcessFigures figures;
  figures.admin = context.stats;
  figures.live = info.state == State::live;
  figures.uptime_s = info.uptime_s;
  figures.shards = info.shards;
  figures.memory_allocated_bytes = memory.allocated_bytes;
  figures.memory_heap_bytes = memory.heap_bytes;
  figures.disks = context.control.disks();
  if (!reloads.empty()) {
    figures.reload_attempts = reloads.back().number;
    figures.last_reload_ok = reloads.back().ok;
    figures.last_reload_unix_s = static_cast<uint64_t>(reloads.back().at_unix_s);
  }
  return figures;
}

rt::Task<Reply> answerStats(Context& context, std::string_view format, const Arguments& arguments) {
  if (format != "text" && format != "json" && format != "prometheus") {
    co_return text(400, std::string(kFormats));
  }
  const std::optional<Types> types = parseTypes(arguments.value("type"));
  if (!types.has_value()) {
    co_return text(400, std::string(kTypes));
  }
  Selection selection{nullptr, arguments.flag("usedonly"), *types};
  std::optional<re2::RE2> filter;
  if (arguments.has("filter")) {
    re2::RE2::Options options(re2::RE2::Quiet);
    options.set_max_mem(kFilterMemory_bytes);
    const std::string_view pattern = arguments.value("filter");
    filter.emplace(re2::StringPiece(pattern.data(), pattern.size()), options);
    if (!filter->ok()) {
      co_return text(400, "Invalid re2 regex\n");
    }
    selection.filter = &*filter;
  }
  const std::vector<shard::ShardStats> shards = co_await context.control.collectStats();
  std::vector<Series> series = collectMetrics(shards, processFigures(context));
  subtractBaseline(context.baseline, series);
  if (format == "prometheus") {
    co_return Reply{200, kPrometheus, writePrometheus(series, selection)};
  }
  if (format == "json") {
    co_return json(writeStatsJson(series, selection));
  }
  co_return text(200, writeStatsText(series, selection));
}

}  // namespace

rt::Task<Reply> statsPage(Context& context, const Arguments& arguments) {
  co_return co_await answerStats(context, arguments.value("format", "text"), arguments);
}

rt::Task<Reply> prometheusPage(Context& context, const Arguments& arguments) {
  co_return co_await answerStats(context, "prometheus", arguments);
}

rt::Task<Reply> resetCountersPage(Context& context, const Arguments&) {
  const std::vector<shard::ShardStats> shards = co_await context.control.collectStats();
  context.baseline = takeBaseline(collectMetrics(shards, processFigures(context)));
  co_return okay();
}

}  // namespace admin
