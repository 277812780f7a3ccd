#include "source/config/load/report.h"

#include <utility>

namespace config {

std::string Finding::text() const {
  std::string out = file;
  if (line != 0) {
    out += ":" + std::to_string(line) + ":" + std::to_string(column);
  }
  out += ": ";
  if (!path.empty()) {
    out += path + ": ";
  }
  out += message;
  if (!suggestion.empty()) {
    out += "; did you mean `" + suggestion + "`?";
  }
  return out;
}

std::string LoadReport::text() const {
  std::string out;
  for (const Finding& finding : errors) {
    out += finding.text() + "\n";
  }
  if (dropped != 0) {
    out += "and " + std::to_string(dropped) + " more\n";
  }
  return out;
}

std::string_view parentOf(std::string_view path) {
  const size_t end = path.find_last_of(".[");
  return path.substr(0, end == path.npos ? 0 : end);
}

Position PositionMap::find(std::string_view path) const {
  while (true) {
    if (const auto at = at_.find(path); at != at_.end()) {
      return at->second;
    }
    if (path.empty()) {
      return {};
    }
    path = parentOf(path);
  }
}

void PositionMap::merge(const PositionMap& overlay) {
  // Merging appends whole elements, so only the outermost index of a path moves.
  for (const auto& [path, at] : overlay.at_) {
    const size_t open = path.find('[');
    const size_t close = path.find(']');
    const auto count = counts_.find(path.substr(0, open));
    if (open == path.npos || count == counts_.end()) {
      at_.insert_or_assign(path, at);
      continue;
    }
    const auto index = std::stoul(path.substr(open + 1, close - open - 1));
    at_.insert_or_assign(
        path.substr(0, open + 1) + std::to_string(index + count->second) + path.substr(close), at);
  }
}

void Reporter::error(Position at, std::string_view path, std::string message,
                     std::string suggestion) {
  add(report_.errors, Finding{std::string(at.file), at.line, at.column, std::string(path),
                              std::move(message), std::move(suggestion)});
}

void Reporter::error(std::string_view path, std::string message, std::string suggestion) {
  error(positions_.find(path), path, std::move(message), std::move(suggestion));
}

void Reporter::warning(std::string_view path, std::string message, std::string suggestion) {
  const Position at = positions_.find(path);
  add(report_.warnings, Finding{std::string(at.file), at.line, at.column, std::string(path),
                                std::move(message), std::move(suggestion)});
}

void Reporter::markBroken(std::string_view path) {
  broken_.emplace(path);
  broken_.emplace(parentOf(path));
  while (around_broken_.emplace(path).second && !path.empty()) {
    path = parentOf(path);
  }
}

void Reporter::adoptBroken(const Reporter& other) {
  broken_.insert(other.broken_.begin(), other.broken_.end());
  around_broken_.insert(other.around_broken_.begin(), other.around_broken_.end());
}

void Reporter::add(std::vector<Finding>& list, Finding finding) {
  if (list.size() == kMaxFindings) {
    report_.dropped++;
    return;
  }
  list.push_back(std::move(finding));
}

}  // namespace config
