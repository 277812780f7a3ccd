// What a configuration is told: findings with their place, as many as one pass can find.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace config {

inline constexpr size_t kMaxFindings = 100;  // of each kind; the rest is counted

struct Position {
  std::string_view file;  // a view of Sources' names
  uint32_t line = 0;      // from 1; 0: the file as a whole
  uint32_t column = 0;    // from 1
};

struct Finding {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string path;        // such as static_resources.listeners[0].address; may be empty
  std::string message;     // a sentence without its full stop
  std::string suggestion;  // what to write instead; may be empty

  // "file:line:column: path: message; did you mean `suggestion`?"
  std::string text() const;
};

struct LoadReport {
  std::vector<Finding> errors;
  std::vector<Finding> warnings;
  uint32_t dropped = 0;  // findings beyond kMaxFindings

  bool ok() const { return errors.empty(); }
  // The errors, a line each.
  std::string text() const;
};

// Where each field of a configuration stands, by its path.
class PositionMap {
 public:
  void set(const std::string& path, Position at) { at_.insert_or_assign(path, at); }
  void setCount(const std::string& path, uint32_t count) { counts_.insert_or_assign(path, count); }
  // The field's place, or that of the nearest field around it.
  Position find(std::string_view path) const;
  // Adds what was merged over this: its lists come behind the lists that are here.
  void merge(const PositionMap& overlay);

 private:
  std::map<std::string, Position, std::less<>> at_;
  std::map<std::string, uint32_t, std::less<>> counts_;  // elements of each list
};

// Adds findings. Remembers which messages could not be read whole, so that what follows from that
// is not reported as well.
class Reporter {
 public:
  Reporter(LoadReport& report, PositionMap& positions) : report_(report), positions_(positions) {}

  void error(Position at, std::string_view path, std::string message, std::string suggestion = "");
  // At the field's place, or around it.
  void error(std::string_view path, std::string message, std::string suggestion = "");
  void warning(std::string_view path, std::string message, std::string suggestion = "");

  // Further errors are only counted.
  bool full() const { return report_.errors.size() >= kMaxFindings; }

  // The field at this path was not read, and so its message not whole.
  void markBroken(std::string_view path);
  // Whether that message, or the field itself, is such a one.
  bool isBroken(std::string_view path) const { return broken_.contains(std::string(path)); }
  // Whether it has such a one within.
  bool isBrokenWithin(std::string_view path) const {
    return around_broken_.contains(std::string(path));
  }
  // What another reporter, of a text merged into this one's, found unread.
  void adoptBroken(const Reporter& other);
  PositionMap& positions() { return positions_; }

 private:
  void add(std::vector<Finding>& list, Finding finding);

  LoadReport& report_;
  PositionMap& positions_;
  std::unordered_set<std::string> broken_;
  std::unordered_set<std::string> around_broken_;
};

// The path of the message that holds this field; empty at the root.
std::string_view parentOf(std::string_view path);

}  // namespace config
