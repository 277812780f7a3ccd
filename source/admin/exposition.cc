#include "source/admin/exposition.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <map>

#include "source/admin/json.h"

namespace admin {
namespace {

struct Quantile {
  std::string_view name;
  double percent;
};
constexpr std::array<Quantile, 10> kQuantiles{{{"P0", 0},
                                               {"P25", 25},
                                               {"P50", 50},
                                               {"P75", 75},
                                               {"P90", 90},
                                               {"P95", 95},
                                               {"P99", 99},
                                               {"P99.5", 99.5},
                                               {"P99.9", 99.9},
                                               {"P100", 100}}};

bool hasType(const Series& series, Types types) {
  switch (types) {
    case Types::all:
      return true;
    case Types::counters:
      return series.kind == Kind::counter;
    case Types::gauges:
      return series.kind == Kind::gauge || series.kind == Kind::peak;
    case Types::histograms:
      return series.kind == Kind::histogram;
    case Types::text_readouts:
      return false;
  }
  return false;
}

bool selects(const Selection& selection, std::string_view name) {
  return selection.filter == nullptr ||
         re2::RE2::PartialMatch(re2::StringPiece(name.data(), name.size()), *selection.filter);
}

// One line of text: a series, or one shard's part of it.
struct NumberLine {
  std::string name;
  uint64_t value = 0;
};

std::string shardName(uint16_t shard, std::string_view name) {
  return "shard." + std::to_string(shard) + "." + std::string(name);
}

std::vector<NumberLine> numbers(const std::vector<Series>& all, const Selection& selection) {
  std::vector<NumberLine> lines;
  const auto add = [&](std::string name, uint64_t value) {
    if ((value != 0 || !selection.used_only) && selects(selection, name)) {
      lines.push_back({std::move(name), value});
    }
  };
  for (const Series& series : all) {
    if (series.kind == Kind::histogram || !hasType(series, selection.types)) {
      continue;
    }
    add(series.name, series.value);
    for (const Series::OfShard& shard : series.shards) {
      add(shardName(shard.shard, series.name), shard.value);
    }
  }
  std::ranges::sort(lines, {}, &NumberLine::name);
  return lines;
}

struct HistogramLine {
  std::string name;
  telemetry::Histogram histogram;
};

std::vector<HistogramLine> histograms(const std::vector<Series>& all, const Selection& selection) {
  std::vector<HistogramLine> lines;
  const auto add = [&](std::string name, const telemetry::Histogram& histogram) {
    if ((histogram.count() != 0 || !selection.used_only) && selects(selection, name)) {
      lines.push_back({std::move(name), histogram});
    }
  };
  for (const Series& series : all) {
    if (series.kind != Kind::histogram || !hasType(series, selection.types)) {
      continue;
    }
    add(series.name, series.merged());
    for (const Series::OfShard& shard : series.shards) {
      add(shardName(shard.shard, series.name), *shard.histogram);
    }
  }
  std::ranges::sort(lines, {}, &HistogramLine::name);
  return lines;
}

double milliseconds(uint64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

// The maximum is known exactly, a quantile to its bucket.
double quantileMs(const telemetry::Histogram& histogram, const Quantile& quantile) {
  return milliseconds(quantile.percent < 100 ? histogram.quantile(quantile.percent / 100)
                                             : histogram.max());
}

// Nanoseconds as seconds, exactly.
std::string exactSeconds(uint64_t ns) {
  std::string fraction = std::to_string(ns % base::kSecond_ns);
  fraction.insert(0, 9 - fraction.size(), '0');
  fraction.resize(fraction.find_last_not_of('0') + 1);
  const std::string whole = std::to_string(ns / base::kSecond_ns);
  return fraction.empty() ? whole : whole + "." + fraction;
}

std::string escapeLabel(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    out += c == '\\' || c == '"' ? "\\" : "";
    out += c;
  }
  return out;
}

// Labels of a sample, with braces; `le` is a histogram's bound.
std::string labelText(const Series& series, const Series::OfShard* shard,
                      std::string_view le = {}) {
  std::string out;
  const auto add = [&out](std::string_view name, std::string_view value) {
    out += out.empty() ? "{" : ",";
    out += std::string(name) + "=\"" + escapeLabel(value) + "\"";
  };
  if (shard != nullptr) {
    add("shard", std::to_string(shard->shard));
  }
  for (const Label& label : series.labels) {
    add(label.name, label.value);
  }
  if (!le.empty()) {
    add("le", le);
  }
  return out.empty() ? out : out + "}";
}

void writeHistogram(const Series& series, const Series::OfShard& shard, std::string& out) {
  constexpr size_t kBounds = telemetry::kLatencyBounds.size();
  std::array<uint64_t, kBounds> bounds{};
  std::array<uint64_t, kBounds> counts{};
  std::ranges::transform(telemetry::kLatencyBounds, bounds.begin(), &telemetry::LatencyBound::ns);
  const telemetry::Histogram& histogram = *shard.histogram;
  histogram.cumulative(bounds, counts);
  const std::string bucket = series.family + "_bucket";
  for (size_t i = 0; i < kBounds; i++) {
    out += bucket + labelText(series, &shard, telemetry::kLatencyBounds[i].seconds) + " " +
           std::to_string(counts[i]) + "\n";
  }
  const std::string count = std::to_string(histogram.count());
  const std::string labels = labelText(series, &shard);
  out += bucket + labelText(series, &shard, "+Inf") + " " + count + "\n";
  out += series.family + "_sum" + labels + " " + formatNumber(histogram.sum() / 1e9) + "\n";
  out += series.family + "_count" + labels + " " + count + "\n";
}

void writeSamples(const Series& series, bool used_only, std::string& out) {
  const auto number = [&series](uint64_t value) {
    return series.unit == Unit::nanoseconds ? exactSeconds(value) : std::to_string(value);
  };
  if (!series.per_shard) {
    if (series.value != 0 || !used_only) {
      out += series.family + labelText(series, nullptr) + " " + number(series.value) + "\n";
    }
    return;
  }
  for (const Series::OfShard& shard : series.shards) {
    if (series.kind == Kind::histogram) {
      if (shard.histogram->count() != 0 || !used_only) {
        writeHistogram(series, shard, out);
      }
    } else if (shard.value != 0 || !used_only) {
      out += series.family + labelText(series, &shard) + " " + number(shard.value) + "\n";
    }
  }
}

std::string_view typeName(Kind kind) {
  switch (kind) {
    case Kind::counter:
      return "counter";
    case Kind::gauge:
    case Kind::peak:
      return "gauge";
    case Kind::histogram:
      return "histogram";
  }
  return "untyped";
}

void writeComputed(JsonWriter& json, const std::vector<HistogramLine>& lines) {
  json.beginObject();
  json.beginObject("histograms");
  json.beginArray("supported_quantiles");
  for (const Quantile& quantile : kQuantiles) {
    json.number(quantile.percent);
  }
  json.endArray();
  json.beginArray("computed_quantiles");
  for (const HistogramLine& line : lines) {
    json.beginObject();
    json.member("name", line.name);
    json.beginArray("values");
    for (const Quantile& quantile : kQuantiles) {
      json.beginObject();
      json.key("interval");
      json.null();
      json.key("cumulative");
      if (line.histogram.count() == 0) {
        json.null();
      } else {
        json.number(quantileMs(line.histogram, quantile));
      }
      json.endObject();
    }
    json.endArray();
    json.endObject();
  }
  json.endArray();
  json.endObject();
  json.endObject();
}

}  // namespace

std::string writeStatsText(const std::vector<Series>& series, const Selection& selection) {
  std::string out;
  for (const NumberLine& line : numbers(series, selection)) {
    out += line.name + ": " + std::to_string(line.value) + "\n";
  }
  for (const HistogramLine& line : histograms(series, selection)) {
    out += line.name + ":";
    if (line.histogram.count() == 0) {
      out += " No recorded values";
    } else {
      for (const Quantile& quantile : kQuantiles) {
        out += " " + std::string(quantile.name) + "(nan," +
               formatNumber(quantileMs(line.histogram, quantile)) + ")";
      }
    }
    out += "\n";
  }
  return out;
}

std::string writeStatsJson(const std::vector<Series>& series, const Selection& selection) {
  JsonWriter json;
  json.beginObject();
  json.beginArray("stats");
  for (const NumberLine& line : numbers(series, selection)) {
    json.beginObject();
    json.member("name", line.name);
    json.member("value", line.value);
    json.endObject();
  }
  const std::vector<HistogramLine> lines = histograms(series, selection);
  if (!lines.empty()) {
    writeComputed(json, lines);
  }
  json.endArray();
  json.endObject();
  return json.take();
}

std::string writePrometheus(const std::vector<Series>& series, const Selection& selection) {
  std::map<std::string_view, std::string> families;
  std::map<std::string_view, const Series*> heads;
  for (const Series& one : series) {
    if (!hasType(one, selection.types) || !selects(selection, one.name)) {
      continue;
    }
    writeSamples(one, selection.used_only, families[one.family]);
    heads.try_emplace(one.family, &one);
  }
  std::string out;
  for (const auto& [family, samples] : families) {
    if (samples.empty()) {
      continue;
    }
    const Series& head = *heads[family];
    out += "# HELP " + head.family + " " + std::string(head.help) + "\n";
    out += "# TYPE " + head.family + " " + std::string(typeName(head.kind)) + "\n";
    out += samples;
  }
  return out;
}

}  // namespace admin
