#include "source/tools/cachesim/report.h"

#include <algorithm>
#include <cstdio>

#include "source/base/check.h"
#include "source/store/core/allocator.h"

namespace cachesim {
namespace {

Row replay(const Trace& trace, Policy& policy) {
  Row row;
  for (const Request& request : trace.requests) {
    const bool hit = policy.request(request);
    row.requests++;
    row.request_bytes += request.bytes;
    row.misses += hit ? 0 : 1;
    row.miss_bytes += hit ? 0 : request.bytes;
  }
  row.stored_bytes = policy.storedTotal();
  row.written_bytes = policy.writtenTotal();
  return row;
}

std::string format(const char* pattern, double value) {
  char text[32];
  const int length = std::snprintf(text, sizeof text, pattern, value);
  CHECK(length > 0 && static_cast<size_t>(length) < sizeof text);
  return text;
}

std::string left(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string right(const std::string& text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string mebibytes(uint64_t bytes) {
  return format("%.1f", static_cast<double>(bytes) / (1 << 20));
}

// The row of S3-FIFO at the same size, which others are compared with.
const Row* reference(const std::vector<Row>& rows, const Row& row) {
  for (const Row& other : rows) {
    if (other.policy == "s3fifo" && other.trace == row.trace && other.fraction == row.fraction) {
      return &other;
    }
  }
  return nullptr;
}

}  // namespace

uint64_t footprint(const Trace& trace) {
  std::vector<bool> seen(trace.objects);
  uint64_t bytes = 0;
  for (const Request& request : trace.requests) {
    if (!seen[request.object]) {
      seen[request.object] = true;
      bytes += storedBytes(request.bytes, store::kMaxSegmentBytes);
    }
  }
  return bytes;
}

std::vector<Row> run(const Trace& trace, const RunOptions& options) {
  std::vector<Row> rows;
  const uint64_t whole = footprint(trace);
  for (const double fraction : options.fractions) {
    PolicyOptions policy;
    policy.size.bytes = static_cast<uint64_t>(static_cast<double>(whole) * fraction);
    policy.size.objects = trace.objects;
    policy.size.segment_bytes = options.segment_bytes != 0
                                    ? options.segment_bytes
                                    : store::segmentBytesFor(policy.size.bytes);
    policy.second_request = options.second_request;
    policy.write_bytes_per_s = options.write_bytes_per_s;
    for (const std::string& name : options.policies) {
      const std::unique_ptr<Policy> made = makePolicy(name, policy);
      Row row = made == nullptr ? Row{} : replay(trace, *made);
      row.too_small = made == nullptr;
      row.trace = trace.name;
      row.fraction = fraction;
      row.cache_bytes = policy.size.bytes;
      row.policy = name;
      rows.push_back(row);
    }
  }
  return rows;
}

std::string table(const std::vector<Row>& rows) {
  std::string text;
  const Row* previous = nullptr;
  for (const Row& row : rows) {
    if (previous == nullptr || previous->trace != row.trace || previous->fraction != row.fraction) {
      text += (text.empty() ? "" : "\n") + row.trace + ": cache of " + format("%g", row.fraction) +
              " of the footprint, " + mebibytes(row.cache_bytes) + " MiB\n" + left("policy", 10) +
              right("miss", 9) + right("byte miss", 11) + right("to s3fifo", 11) +
              right("stored MiB", 12) + right("written MiB", 13) + right("amplified", 11) + "\n";
    }
    previous = &row;
    if (row.too_small) {
      text += left(row.policy, 10) + "  the cache is too small for it: less than " +
              std::to_string(store::kMinSegments) + " segments\n";
      continue;
    }
    const Row* s3fifo = reference(rows, row);
    const bool compared = s3fifo != nullptr && s3fifo->misses > 0;
    text += left(row.policy, 10) + right(format("%.4f", row.missRatio()), 9) +
            right(format("%.4f", row.byteMissRatio()), 11) +
            right(compared ? format("%.3f", Row::ratio(row.misses, s3fifo->misses)) : "-", 11) +
            right(mebibytes(row.stored_bytes), 12) + right(mebibytes(row.written_bytes), 13) +
            right(row.written_bytes > 0 ? format("%.3f", row.writeAmplification()) : "-", 11) +
            "\n";
  }
  return text;
}

std::string csv(const std::vector<Row>& rows) {
  std::string text =
      "trace,fraction,cache_bytes,policy,requests,misses,miss_ratio,byte_miss_ratio,stored_bytes,"
      "written_bytes,write_amplification\n";
  for (const Row& row : rows) {
    if (row.too_small) {
      continue;
    }
    text += row.trace + "," + format("%g", row.fraction) + "," + std::to_string(row.cache_bytes) +
            "," + row.policy + "," + std::to_string(row.requests) + "," +
            std::to_string(row.misses) + "," + format("%.6f", row.missRatio()) + "," +
            format("%.6f", row.byteMissRatio()) + "," + std::to_string(row.stored_bytes) + "," +
            std::to_string(row.written_bytes) + "," + format("%.4f", row.writeAmplification()) +
            "\n";
  }
  return text;
}

}  // namespace cachesim
