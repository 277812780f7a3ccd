// The caches and their disks: what they hold.
#include <algorithm>
#include <iterator>
#include <map>

#include "source/admin/figures.h"
#include "source/admin/json.h"
#include "source/admin/pages.h"

namespace admin {
namespace {

using shard::CacheReport;
using shard::DiskReport;

template <class Owner>
void addFigures(std::span<const Figure<Owner>> figures, Owner& into, const Owner& from) {
  for (const Figure<Owner>& figure : figures) {
    into.*figure.member += from.*figure.member;
  }
}

void addDisks(std::vector<DiskReport>& into, const std::vector<DiskReport>& from) {
  for (const DiskReport& disk : from) {
    auto at = std::ranges::find(into, disk.path, &DiskReport::path);
    if (at == into.end()) {
      into.push_back(DiskReport{disk.path, {}, {}});
      at = std::prev(into.end());
    }
    addFigures(diskFigures(), at->figures, disk.figures);
    at->trouble += at->trouble.empty() ? disk.trouble : std::string();
  }
}

std::vector<CacheReport> sumCaches(const std::vector<shard::ShardStats>& shards) {
  std::map<std::string_view, CacheReport> by_name;
  for (const shard::ShardStats& shard : shards) {
    for (const CacheReport& from : shard.caches) {
      CacheReport& into = by_name[from.name];
      into.name = from.name;
      into.disk_io = from.disk_io;
      into.stripes_owned += from.stripes_owned;
      into.disk_trouble += into.disk_trouble.empty() ? from.disk_trouble : std::string();
      addFigures(cacheFigures(), into, from);
      addFigures(ramFigures(), into.memory, from.memory);
      addFigures(lookupFigures(), into.lookups, from.lookups);
      addFigures(stripeFigures(), into.stripe, from.stripe);
      addFigures(purgeFigures(), into.purges, from.purges);
      addFigures(scrubFigures(), into.scrub, from.scrub);
      addFigures(writeFigures(), into.writes, from.writes);
      addDisks(into.disks, from.disks);
    }
  }
  std::vector<CacheReport> out;
  for (auto& [name, report] : by_name) {
    out.push_back(std::move(report));
  }
  return out;
}

// Visits name and value of every figure of a cache.
template <class Visit>
void eachFigure(const CacheReport& cache, Visit visit) {
  const auto table = [&visit]<class Owner>(std::span<const Figure<Owner>> figures,
                                           const Owner& owner) {
    for (const Figure<Owner>& figure : figures) {
      visit(figure.name, owner.*figure.member);
    }
  };
  visit("stripes", uint64_t{cache.stripes_owned});
  table(cacheFigures(), cache);
  table(ramFigures(), cache.memory);
  table(lookupFigures(), cache.lookups);
  table(stripeFigures(), cache.stripe);
  table(purgeFigures(), cache.purges);
  table(scrubFigures(), cache.scrub);
  table(writeFigures(), cache.writes);
}

// Whether a disk is in use, and why not.
std::string stateText(const std::string& trouble, uint64_t recovering, uint64_t to_recover) {
  if (!trouble.empty()) {
    return "out of use (" + trouble + ")";
  }
  return recovering == 0 ? "in use"
                         : "recovering, " + std::to_string(to_recover) + " segments to go";
}

// A directory as the configuration has it, with its figures if it is used.
struct DiskView {
  DiskInfo info;
  DiskReport report;
  std::string state;
};

std::vector<DiskView> disksOf(const CacheReport& cache, const std::vector<DiskInfo>& infos) {
  std::vector<DiskView> views;
  for (const DiskInfo& info : infos) {
    if (info.cache != cache.name) {
      continue;
    }
    DiskView& view = views.emplace_back(DiskView{info, {}, {}});
    const auto at = std::ranges::find(cache.disks, info.path, &DiskReport::path);
    if (at != cache.disks.end()) {
      view.report = *at;
    }
    const shard::DiskFigures& figures = view.report.figures;
    view.state = info.leaving           ? "leaving"
                 : info.why_not.empty() ? stateText(view.report.trouble, figures.stripes_recovering,
                                                    figures.segments_to_recover)
                                        : "not used (" + info.why_not + ")";
  }
  return views;
}

// Of the whole cache: the first of its disks that is not in use, if there is one.
std::string cacheState(const CacheReport& cache, const std::vector<DiskView>& disks) {
  for (const DiskView& disk : disks) {
    if (!disk.info.why_not.empty()) {
      return disk.state;
    }
  }
  return stateText(cache.disk_trouble, cache.stripes_recovering, cache.segments_to_recover);
}

std::string cacheText(const CacheReport& cache, const std::vector<DiskView>& disks) {
  const std::string name = cache.name + "::";
  std::string out = name + "path::" + (disks.empty() ? "" : disks.front().info.path) + "\n";
  out += name + "disk_io::" + cache.disk_io + "\n";
  out += name + "disk::" + cacheState(cache, disks) + "\n";
  eachFigure(cache, [&](std::string_view figure, uint64_t value) {
    out += name + std::string(figure) + "::" + std::to_string(value) + "\n";
  });
  for (const DiskView& disk : disks) {
    const std::string prefix = name + "disks::" + disk.info.path + "::";
    out += prefix + "state::" + disk.state + "\n";
    out += prefix + "max_size_bytes::" + std::to_string(disk.info.max_size_bytes) + "\n";
    for (const Figure<shard::DiskFigures>& figure : diskFigures()) {
      out += prefix + std::string(figure.name) +
             "::" + std::to_string(disk.report.figures.*figure.member) + "\n";
    }
  }
  return out;
}

void writeCache(JsonWriter& out, const CacheReport& cache, const std::vector<DiskView>& disks) {
  out.beginObject();
  out.member("name", cache.name);
  out.member("path", disks.empty() ? std::string_view() : disks.front().info.path);
  out.member("disk_io", cache.disk_io);
  out.member("disk", cacheState(cache, disks));
  eachFigure(cache, [&out](std::string_view name, uint64_t value) { out.member(name, value); });
  out.beginArray("disks");
  for (const DiskView& disk : disks) {
    out.beginObject();
    out.member("path", disk.info.path);
    out.member("state", disk.state);
    out.member("max_size_bytes", disk.info.max_size_bytes);
    out.member("open_failures", disk.info.failures);
    for (const Figure<shard::DiskFigures>& figure : diskFigures()) {
      out.member(figure.name, disk.report.figures.*figure.member);
    }
    out.endObject();
  }
  out.endArray();
  out.endObject();
}

}  // namespace

rt::Task<Reply> cachePage(Context& context, const Arguments& arguments) {
  const std::vector<shard::ShardStats> shards = co_await context.control.collectStats();
  const std::vector<DiskInfo> infos = context.control.disks();
  const std::vector<CacheReport> caches = sumCaches(shards);
  if (!wantsJson(arguments)) {
    std::string out;
    for (const CacheReport& cache : caches) {
      out += cacheText(cache, disksOf(cache, infos));
    }
    co_return text(200, std::move(out));
  }
  JsonWriter out;
  out.beginObject();
  out.beginArray("caches");
  for (const CacheReport& cache : caches) {
    writeCache(out, cache, disksOf(cache, infos));
  }
  out.endArray();
  out.endObject();
  co_return json(out.take());
}

}  // namespace admin
