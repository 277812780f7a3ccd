#include "source/tools/cachesim/trace.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

namespace cachesim {
namespace {

constexpr uint64_t kMaxObjects = UINT32_MAX - 1;

struct Columns {
  std::string_view time;
  std::string_view id;
  std::string_view size;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '"')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '"' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

// The three columns that are asked for, and how many the line has.
uint32_t split(std::string_view line, const CsvOptions& options, Columns& columns) {
  uint32_t number = 0;
  bool more = true;
  while (more) {
    const size_t end = line.find(options.delimiter);
    more = end != std::string_view::npos;
    const std::string_view field = trimmed(line.substr(0, end));
    number++;
    columns.time = number == options.time_column ? field : columns.time;
    columns.id = number == options.id_column ? field : columns.id;
    columns.size = number == options.size_column ? field : columns.size;
    line = more ? line.substr(end + 1) : std::string_view();
  }
  return number;
}

// A whole number; a fraction, as some traces have in their times, is cut off.
std::optional<uint64_t> number(std::string_view text, bool fraction) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size();
  if (error != std::errc() || (!whole && !(fraction && *end == '.'))) {
    return std::nullopt;
  }
  return value;
}

std::string at(uint64_t line, const std::string& what) {
  return "line " + std::to_string(line) + ": " + what;
}

// Reads one line into `request`, but for the object's number. The error, if any.
std::string read(std::string_view line, uint64_t line_number, const CsvOptions& options,
                 Request& request, std::string_view& id) {
  Columns columns;
  const uint32_t found = split(line, options, columns);
  const uint32_t needed = std::max({options.time_column, options.id_column, options.size_column});
  if (found < needed) {
    return at(line_number, "has " + std::to_string(found) + " columns where column " +
                               std::to_string(needed) +
                               " is needed; check --columns and --delimiter");
  }
  id = columns.id;
  if (id.empty()) {
    return at(line_number, "has no object id in column " + std::to_string(options.id_column));
  }
  request.bytes = options.unit_bytes;
  if (options.size_column != 0) {
    const std::optional<uint64_t> bytes = number(columns.size, false);
    if (!bytes.has_value() || *bytes > UINT32_MAX) {
      return at(line_number, "`" + std::string(columns.size) +
                                 "` is no size of an object in bytes (0 to 4294967295); check "
                                 "--columns, or give --header if this line is one");
    }
    request.bytes = static_cast<uint32_t>(*bytes);
  }
  if (options.time_column != 0) {
    const std::optional<uint64_t> time = number(columns.time, true);
    if (!time.has_value()) {
      return at(line_number, "`" + std::string(columns.time) +
                                 "` is no time in seconds; check --columns, or give --header if "
                                 "this line is one");
    }
    request.time_s = static_cast<uint32_t>(std::min<uint64_t>(*time, UINT32_MAX));
  }
  return {};
}

}  // namespace

void Trace::link() {
  std::vector<uint64_t> next(objects, kNeverAgain);
  for (uint64_t i = requests.size(); i-- > 0;) {
    Request& request = requests[i];
    request.next = next[request.object];
    next[request.object] = i;
  }
}

CsvResult parseCsv(std::string_view text, const CsvOptions& options) {
  CsvResult result;
  std::unordered_map<std::string_view, uint32_t> known;
  uint64_t line_number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    line_number++;
    if (trimmed(line).empty() || (options.has_header && line_number == 1)) {
      continue;
    }
    Request request;
    request.time_s = static_cast<uint32_t>(result.trace.requests.size());
    std::string_view id;
    result.error = read(line, line_number, options, request, id);
    if (!result.error.empty()) {
      return result;
    }
    if (known.size() >= kMaxObjects) {
      result.error = at(line_number, "is one object too many: 4294967294 can be simulated");
      return result;
    }
    request.object = known.try_emplace(id, static_cast<uint32_t>(known.size())).first->second;
    result.trace.requests.push_back(request);
  }
  if (result.trace.requests.empty()) {
    result.error = "there is no request in it; a line is `time,object id,size in bytes`";
  }
  result.trace.objects = static_cast<uint32_t>(known.size());
  result.trace.link();
  return result;
}

}  // namespace cachesim
