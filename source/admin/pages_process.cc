// What the process is, and the switches that concern it as a whole.
#include <fcntl.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "source/admin/json.h"
#include "source/admin/pages.h"

namespace admin {
namespace {

constexpr std::string_view kLogger = "ringfence";

constexpr std::string_view kLoggingUsage =
    "usage: /logging?<name>=<level> (change single level)\n"
    "usage: /logging?paths=name1:level1,name2:level2,... (change multiple levels)\n"
    "usage: /logging?level=<level> (change all levels)\n"
    "usage: /logging (list loggers)\n"
    "loggers: ringfence\n"
    "levels: trace debug info warning error critical off\n";

Reply loggingError(std::string why) {
  return text(400, "error: " + std::move(why) + "\n" + std::string(kLoggingUsage));
}

// "name:level,name:level"; nullopt, or what is wrong.
std::optional<std::string> readPaths(std::string_view paths, telemetry::LogLevel& level) {
  while (!paths.empty()) {
    const std::string_view piece = paths.substr(0, paths.find(','));
    paths.remove_prefix(piece.size() < paths.size() ? piece.size() + 1 : piece.size());
    const size_t colon = piece.find(':');
    if (colon == std::string_view::npos) {
      return "parameter `paths`: " + inTicks(piece) + " is not name:level";
    }
    if (piece.substr(0, colon) != kLogger) {
      return "unknown logger " + inTicks(piece.substr(0, colon));
    }
    const std::optional<telemetry::LogLevel> parsed =
        telemetry::parseLogLevel(piece.substr(colon + 1));
    if (!parsed.has_value()) {
      return "unknown level " + inTicks(piece.substr(colon + 1));
    }
    level = *parsed;
  }
  return std::nullopt;
}

std::string escapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string_view name(State state) {
  switch (state) {
    case State::live:
      return "LIVE";
    case State::draining:
      return "DRAINING";
    case State::pre_initializing:
      return "PRE_INITIALIZING";
    case State::initializing:
      return "INITIALIZING";
  }
  return "UNKNOWN";
}

std::string formatTime(int64_t unix_s) {
  const time_t seconds = unix_s;
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text;
  const size_t length = strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text.data(), length);
}

std::string formatVersion(uint64_t version) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    text += "0123456789abcdef"[version >> shift & 15];
  }
  return text;
}

Memory readMemory() {
  Memory memory;
  const struct mallinfo2 info = mallinfo2();
  memory.allocated_bytes = info.uordblks + info.hblkhd;
  memory.heap_bytes = info.arena + info.hblkhd;
  memory.free_bytes = info.fordblks;
  // "size resident ..." in pages; a file of the kernel's memory, which never waits for a disk.
  const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return memory;
  }
  std::array<char, 128> text;
  const ssize_t length = read(fd, text.data(), text.size());
  close(fd);
  const std::string_view statm(text.data(), length > 0 ? static_cast<size_t>(length) : 0);
  const size_t blank = statm.find(' ');
  uint64_t pages = 0;
  if (blank != std::string_view::npos) {
    std::from_chars(statm.data() + blank + 1, statm.data() + statm.size(), pages);
  }
  memory.resident_bytes = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return memory;
}

Reply homePage(Context& context, const Arguments&) {
  std::string rows;
  for (const Command& command : commands()) {
    const std::string path = escapeHtml(command.path);
    const std::string link = command.mutates ? "<form method=\"post\" action=\"" + path +
                                                   "\"><button>" + path + "</button></form>"
                                             : "<a href=\"" + path + "\">" + path + "</a>";
    std::string fields;
    for (const Parameter& parameter : command.parameters) {
      fields += "<br><small>" + escapeHtml(parameter.name) + ": " + escapeHtml(parameter.help) +
                "</small>";
    }
    rows += "<tr><td>" + link + "</td><td>" + escapeHtml(command.help) + fields + "</td></tr>\n";
  }
  return {200, kHtml,
          "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<title>Ringfence admin</title>\n<style>body{font-family:sans-serif;margin:2em}"
          "td{border-top:1px solid #ccc;padding:.4em;vertical-align:top}form{margin:0}</style>"
          "</head>\n<body><h1>Ringfence</h1>\n<p>" +
              escapeHtml(context.control.info().version) + "</p>\n<table>\n" + rows +
              "</table></body></html>\n"};
}

Reply helpPage(Context&, const Arguments&) {
  return text(200, helpText());
}

Reply readyPage(Context& context, const Arguments&) {
  const State state = context.control.info().state;
  return text(state == State::live ? 200 : 503, std::string(name(state)) + "\n");
}

Reply serverInfoPage(Context& context, const Arguments&) {
  const ServerInfo info = context.control.info();
  const std::string uptime = std::to_string(info.uptime_s) + "s";
  JsonWriter out;
  out.beginObject();
  out.member("version", info.version);
  out.member("state", name(info.state));
  out.member("uptime_current_epoch", uptime);
  out.member("uptime_all_epochs", uptime);
  out.member("hot_restart_version", "disabled");
  out.beginObject("command_line_options");
  for (const auto& [flag, value] : info.command_line) {
    out.member(flag, value);
  }
  out.endObject();
  out.member("engine", info.engine);
  out.member("engine_reason", info.engine_reason);
  out.member("shards", info.shards);
  out.member("config_version", formatVersion(context.control.snapshot().version));
  out.endObject();
  return json(out.take());
}

Reply memoryPage(Context&, const Arguments&) {
  const Memory memory = readMemory();
  JsonWriter out;
  out.beginObject();
  out.member("allocated", std::to_string(memory.allocated_bytes));
  out.member("heap_size", std::to_string(memory.heap_bytes));
  out.member("pageheap_unmapped", std::to_string(memory.unmapped_bytes));
  out.member("pageheap_free", std::to_string(memory.free_bytes));
  out.member("total_thread_cache", "0");
  out.member("total_physical_bytes", std::to_string(memory.resident_bytes));
  out.endObject();
  return json(out.take());
}

Reply certsPage(Context&, const Arguments&) {
  JsonWriter out;
  out.beginObject();
  out.beginArray("certificates");
  out.endArray();
  out.endObject();
  return json(out.take());
}

Reply loggingPage(Context& context, const Arguments& arguments) {
  if (arguments.all().size() > 1) {
    return loggingError("one parameter at a time");
  }
  telemetry::LogLevel level = context.control.logLevel();
  if (!arguments.all().empty()) {
    const Arguments::Argument& argument = arguments.all().front();
    std::optional<std::string> wrong;
    if (argument.name == "paths") {
      wrong = readPaths(argument.value, level);
    } else if (argument.name == "level" || argument.name == kLogger) {
      level = telemetry::parseLogLevel(argument.value).value_or(level);  // it was checked
    } else {
      wrong = "unknown logger " + inTicks(argument.name);
    }
    if (wrong.has_value()) {
      return loggingError(std::move(*wrong));
    }
    context.control.setLogLevel(level);
  }
  return text(200, "active loggers:\n  " + std::string(kLogger) + ": " +
                       std::string(telemetry::name(level)) + "\n");
}

Reply failHealthPage(Context& context, const Arguments&) {
  context.control.failHealthcheck(true);
  return okay();
}

Reply passHealthPage(Context& context, const Arguments&) {
  context.control.failHealthcheck(false);
  return okay();
}

Reply quitPage(Context&, const Arguments&) {
  Reply reply = okay();
  reply.then_quit = true;
  return reply;
}

rt::Task<Reply> drainListenersPage(Context& context, const Arguments& arguments) {
  const bool graceful = arguments.flag("graceful");
  if (arguments.flag("skip_exit") && !graceful) {
    co_return text(400, "skip_exit requires graceful\n");
  }
  if (!graceful) {
    co_await context.control.drainListeners(false);
  } else {
    // It takes the drain time. One that is asked for again meanwhile changes nothing.
    context.background.spawn(context.control.drainListeners(true));
  }
  co_return okay();
}

}  // namespace admin
