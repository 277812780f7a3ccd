// Metrics declared once: a list macro gives each its kind, name and help text, and becomes a struct
// of plain integers that one thread writes, that is copied by message and added up.
//
//   #define CACHE_METRICS(X)                                       \
//     X(counter, hits, "Requests answered from the cache")         \
//     X(gauge, entries, "Objects in the index")                    \
//     X(peak, fills_max, "Most fills in flight at once")
//   TELEMETRY_METRICS(CacheMetrics, CACHE_METRICS);
//
//   metrics.hits++;
//   metrics.forEach([](const telemetry::Metric& metric, uint64_t value) { … });
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace telemetry {

// A counter only grows; a gauge is a level now; a peak is the highest level seen. Counters and
// gauges of several shards add up, of peaks the largest counts.
enum class MetricKind : uint8_t { counter, gauge, peak };

struct Metric {
  MetricKind kind;
  std::string_view name;
  std::string_view help;
};

// Lower-case letters, digits and single underscores, beginning with a letter.
constexpr bool isMetricName(std::string_view name) {
  if (!name.empty() && name[0] >= '0' && name[0] <= '9') {
    return false;
  }
  char previous = '_';
  for (const char c : name) {
    const bool letter = c >= 'a' && c <= 'z';
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !digit && !(c == '_' && previous != '_')) {
      return false;
    }
    previous = c;
  }
  return previous != '_';
}

namespace detail {

constexpr void merge(MetricKind kind, uint64_t& into, uint64_t value) {
  into = kind == MetricKind::peak ? std::max(into, value) : into + value;
}

}  // namespace detail
}  // namespace telemetry

#define TELEMETRY_FIELD_(kind, name, help)                                          \
  uint64_t name = 0;                                                                \
  static_assert(::telemetry::isMetricName(#name), "a metric's name is snake_case"); \
  static_assert(sizeof(help) > 1, "a metric says what it counts");
#define TELEMETRY_COUNT_(kind, name, help) +1
#define TELEMETRY_VISIT_(kind, name, help) \
  visit(::telemetry::Metric{::telemetry::MetricKind::kind, #name, help}, name);
#define TELEMETRY_MERGE_(kind, name, help) \
  ::telemetry::detail::merge(::telemetry::MetricKind::kind, name, other.name);
#define TELEMETRY_RESET_(kind, name, help) \
  name = ::telemetry::MetricKind::kind == ::telemetry::MetricKind::gauge ? name : 0;

// The struct of a list. forEach visits in the list's order; add merges another shard's; reset
// clears what is not a gauge.
#define TELEMETRY_METRICS(Type, LIST)                           \
  struct Type {                                                 \
    static constexpr size_t kCount = 0 LIST(TELEMETRY_COUNT_);  \
    LIST(TELEMETRY_FIELD_)                                      \
    template <class Visitor>                                    \
    void forEach(Visitor&& visit) const {                       \
      LIST(TELEMETRY_VISIT_)                                    \
    }                                                           \
    void add(const Type& other) {                               \
      LIST(TELEMETRY_MERGE_)                                    \
    }                                                           \
    void reset() {                                              \
      LIST(TELEMETRY_RESET_)                                    \
    }                                                           \
    friend bool operator==(const Type&, const Type&) = default; \
  }
