// The commands themselves; commands.cc says which path runs which. What needs no shard is a plain
// function.
#pragma once

#include <string>
#include <string_view>

#include "source/admin/command.h"

namespace admin {

// pages_process.cc
Reply homePage(Context& context, const Arguments& arguments);
Reply helpPage(Context& context, const Arguments& arguments);
Reply readyPage(Context& context, const Arguments& arguments);
Reply serverInfoPage(Context& context, const Arguments& arguments);
Reply memoryPage(Context& context, const Arguments& arguments);
Reply certsPage(Context& context, const Arguments& arguments);
Reply loggingPage(Context& context, const Arguments& arguments);
Reply failHealthPage(Context& context, const Arguments& arguments);
Reply passHealthPage(Context& context, const Arguments& arguments);
Reply quitPage(Context& context, const Arguments& arguments);
rt::Task<Reply> drainListenersPage(Context& context, const Arguments& arguments);

// pages_stats.cc
rt::Task<Reply> statsPage(Context& context, const Arguments& arguments);
rt::Task<Reply> prometheusPage(Context& context, const Arguments& arguments);
rt::Task<Reply> resetCountersPage(Context& context, const Arguments& arguments);

// pages_config.cc
Reply configDumpPage(Context& context, const Arguments& arguments);
rt::Task<Reply> listenersPage(Context& context, const Arguments& arguments);
rt::Task<Reply> clustersPage(Context& context, const Arguments& arguments);
rt::Task<Reply> reloadPage(Context& context, const Arguments& arguments);
Reply reloadStatusPage(Context& context, const Arguments& arguments);

// pages_shards.cc
rt::Task<Reply> shardsPage(Context& context, const Arguments& arguments);

// pages_cache.cc
rt::Task<Reply> cachePage(Context& context, const Arguments& arguments);
rt::Task<Reply> objectsPage(Context& context, const Arguments& arguments);
rt::Task<Reply> purgePage(Context& context, const Arguments& arguments);
rt::Task<Reply> lookupPage(Context& context, const Arguments& arguments);

// A state's name, as Envoy spells it.
std::string_view name(State state);
// "2026-01-31T08:15:30Z"
std::string formatTime(int64_t unix_s);
// A configuration's version: 16 hexadecimal digits.
std::string formatVersion(uint64_t version);
inline bool wantsJson(const Arguments& arguments) {
  return arguments.value("format") == "json";
}

// What the allocator and the kernel say of this process' memory.
struct Memory {
  uint64_t allocated_bytes = 0;
  uint64_t heap_bytes = 0;
  uint64_t unmapped_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t resident_bytes = 0;
};
Memory readMemory();

}  // namespace admin
