#include "test/admin/exposition_check.h"

#include <cstdlib>
#include <limits>
#include <optional>
#include <set>

namespace admin {
namespace {

bool isNameChar(char c, bool first, bool label) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c == ':' && !label) ||
         (!first && c >= '0' && c <= '9');
}

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  std::string value;
};

// nullopt: not a sample.
std::optional<Sample> readSample(std::string_view line) {
  Sample sample;
  size_t at = 0;
  while (at < line.size() && isNameChar(line[at], at == 0, false)) {
    at++;
  }
  sample.name = line.substr(0, at);
  if (at == 0) {
    return std::nullopt;
  }
  if (at < line.size() && line[at] == '{') {
    do {
      const size_t begin = ++at;
      while (at < line.size() && isNameChar(line[at], at == begin, true)) {
        at++;
      }
      const std::string name(line.substr(begin, at - begin));
      if (name.empty() || line.substr(at, 2) != "=\"") {
        return std::nullopt;
      }
      std::string value;
      for (at += 2; at < line.size() && line[at] != '"'; at++) {
        if (line[at] == '\\') {
          at++;
          if (at == line.size() || std::string_view("\\\"n").find(line[at]) == std::string::npos) {
            return std::nullopt;
          }
        }
        value += line[at];
      }
      if (at == line.size() || !sample.labels.emplace(name, value).second) {
        return std::nullopt;
      }
      at++;
    } while (at < line.size() && line[at] == ',');
    if (at == line.size() || line[at] != '}') {
      return std::nullopt;
    }
    at++;
  }
  if (at == line.size() || line[at] != ' ') {
    return std::nullopt;
  }
  sample.value = line.substr(at + 1);
  char* end = nullptr;
  std::strtod(sample.value.c_str(), &end);
  if (sample.value.empty() || *end != '\0') {
    return std::nullopt;
  }
  return sample;
}

struct Buckets {
  std::vector<std::pair<double, double>> counts;  // as they come
  std::optional<double> sum, count;
};

class Reader {
 public:
  Exposition read(std::string_view text) {
    if (text.empty() || text.back() != '\n') {
      problem("does not end with a line's end");
    }
    while (!text.empty()) {
      const size_t end = text.find('\n');
      line(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    for (const auto& [series, buckets] : histograms_) {
      checkHistogram(series, buckets);
    }
    return std::move(out_);
  }

 private:
  void problem(std::string what) { out_.problems.push_back(std::move(what)); }

  void line(std::string_view line) {
    const auto word = [&line] {
      const size_t end = line.find(' ');
      std::string w(line.substr(0, end));
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
      return w;
    };
    if (line.starts_with("# HELP ")) {
      line.remove_prefix(7);
      const std::string family = word();
      if (!helped_.insert(family).second) {
        problem("two HELP lines for " + family);
      }
      if (line.empty()) {
        problem("no help for " + family);
      }
      enter(family);
    } else if (line.starts_with("# TYPE ")) {
      line.remove_prefix(7);
      const std::string family = word();
      if (!out_.types.emplace(family, std::string(line)).second) {
        problem("two TYPE lines for " + family);
      }
      if (!helped_.contains(family)) {
        problem("no HELP line before the TYPE line of " + family);
      }
      enter(family);
      checkFamily(family, std::string(line));
    } else if (std::optional<Sample> sample = readSample(line)) {
      take(*sample, line);
    } else {
      problem("not a sample: " + std::string(line));
    }
  }

  void enter(const std::string& family) {
    if (family != current_) {
      if (!entered_.insert(family).second) {
        problem("the lines of " + family + " are not together");
      }
      current_ = family;
    }
  }

  void checkFamily(const std::string& family, const std::string& type) {
    if ((type == "counter") != family.ends_with("_total")) {
      problem(family + ": _total is for counters");
    }
    for (const std::string_view unit :
         {"_ns_", "_ms_", "_us_", "_nanoseconds_", "_milliseconds_"}) {
      if ((family + "_").find(unit) != std::string::npos) {
        problem(family + ": not in base units");
      }
    }
    for (const std::string_view suffix : {"_count", "_sum", "_bucket"}) {
      if (family.ends_with(suffix)) {
        problem(family + ": a suffix of histograms");
      }
    }
  }

  void take(const Sample& sample, std::string_view line) {
    const std::string series(line.substr(0, line.rfind(' ')));
    if (!out_.samples.emplace(series, sample.value).second ||
        !seen_.emplace(sample.name, sample.labels).second) {
      problem("the series " + series + " comes twice");
    }
    const double value = std::strtod(sample.value.c_str(), nullptr);
    if (out_.types[current_] == "histogram") {
      takeHistogram(sample, value);
    } else if (sample.name != current_) {
      problem(sample.name + " among the lines of " + current_);
    } else if (out_.types[current_] == "counter" && value < 0) {
      problem("negative counter " + series);
    }
  }

  void takeHistogram(const Sample& sample, double value) {
    std::map<std::string, std::string> labels = sample.labels;
    const std::string le = labels["le"];
    labels.erase("le");
    Buckets& buckets = histograms_[{current_, labels}];
    if (sample.name == current_ + "_bucket" && !le.empty()) {
      buckets.counts.emplace_back(
          le == "+Inf" ? std::numeric_limits<double>::infinity() : std::strtod(le.c_str(), nullptr),
          value);
    } else if (sample.name == current_ + "_sum") {
      buckets.sum = value;
    } else if (sample.name == current_ + "_count") {
      buckets.count = value;
    } else {
      problem(sample.name + " in the histogram " + current_);
    }
  }

  using SeriesKey = std::pair<std::string, std::map<std::string, std::string>>;
  void checkHistogram(const SeriesKey& series, const Buckets& buckets) {
    for (size_t i = 1; i < buckets.counts.size(); i++) {
      if (buckets.counts[i].first <= buckets.counts[i - 1].first ||
          buckets.counts[i].second < buckets.counts[i - 1].second) {
        problem("buckets of " + series.first + " are not cumulative");
      }
    }
    if (buckets.counts.empty() || !buckets.sum.has_value() ||
        buckets.counts.back().first != std::numeric_limits<double>::infinity() ||
        buckets.count != buckets.counts.back().second) {
      problem("the histogram " + series.first + " lacks +Inf, or _sum, or a _count equal to it");
    }
  }

  Exposition out_;
  std::string current_;
  std::set<std::string> entered_, helped_;
  std::set<SeriesKey> seen_;
  std::map<SeriesKey, Buckets> histograms_;
};

}  // namespace

Exposition readExposition(std::string_view text) {
  return Reader().read(text);
}

}  // namespace admin
