// The command line of tools/cachesim: which trace, which caches, which form of output.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "source/tools/cachesim/generate.h"
#include "source/tools/cachesim/report.h"
#include "source/tools/cachesim/trace.h"

namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

struct Flags {
  std::string trace_path;
  std::string columns = "1,2,3";
  std::string delimiter = ",";
  std::string sizes = "unit";
  std::string csv_path;
  cachesim::CsvOptions csv;
  cachesim::ZipfOptions zipf;
  cachesim::RunOptions run;
};

void addFlags(CLI::App& app, Flags& flags) {
  app.add_option("--trace", flags.trace_path,
                 "CSV as libCacheSim has it: time, object id, size. Without it a trace is made");
  app.add_option("--columns", flags.columns,
                 "Columns of time, id and size, from 1; 0 for a time or size that is not there");
  app.add_option("--delimiter", flags.delimiter, "One character between columns, or `tab`");
  app.add_flag("--header", flags.csv.has_header, "The first line names the columns");
  app.add_option("--unit-bytes", flags.zipf.unit_bytes,
                 "Size of all objects, if the trace has none or --sizes is unit");
  app.add_option("--alpha", flags.zipf.alpha, "Zipf's exponent");
  app.add_option("--objects", flags.zipf.objects, "Objects with a popularity");
  app.add_option("--requests", flags.zipf.requests, "Requests to make");
  app.add_option("--one-hit-share", flags.zipf.one_hit_share,
                 "Share of the requests for objects that never come again");
  app.add_option("--scan-every", flags.zipf.scan_every, "Requests from scan to scan; 0: none");
  app.add_option("--scan-length", flags.zipf.scan_length,
                 "Requests of a scan, all for new objects");
  app.add_option("--shift-at", flags.zipf.shift_at,
                 "Share of the requests after which a tenth of the popular objects changes");
  app.add_option("--sizes", flags.sizes, "unit, or web: most small, a long tail")
      ->check(CLI::IsMember({"unit", "web"}));
  app.add_option("--requests-per-s", flags.zipf.requests_per_s, "How fast the made trace is");
  app.add_option("--seed", flags.zipf.seed, "The same seed makes the same trace");
  app.add_option("--cache", flags.run.fractions, "Cache sizes as fractions of the footprint")
      ->delimiter(',');
  app.add_option("--policy", flags.run.policies, "Which policies; all by default")->delimiter(',');
  app.add_option("--segment-bytes", flags.run.segment_bytes,
                 "Segments of the product's log; as it would cut a stripe by default");
  app.add_flag("--second-request", flags.run.second_request,
               "The admission filter of `segments`: only what was asked for before is stored");
  app.add_option("--write-bytes-per-s", flags.run.write_bytes_per_s,
                 "The same filter's budget; 0: no limit");
  app.add_option("--csv", flags.csv_path, "Also write the figures to this file");
}

int refuse(const std::string& error) {
  std::fprintf(stderr, "cachesim: %s\n", error.c_str());
  return kExitUsage;
}

// Three numbers, 0 to 1000.
bool parseColumns(const std::string& text, cachesim::CsvOptions& csv) {
  int end = 0;
  const int found = std::sscanf(text.c_str(), "%4u,%4u,%4u%n", &csv.time_column, &csv.id_column,
                                &csv.size_column, &end);
  return found == 3 && static_cast<size_t>(end) == text.size() && csv.id_column != 0;
}

std::string check(Flags& flags) {
  if (!parseColumns(flags.columns, flags.csv)) {
    return "--columns takes three numbers, such as 1,2,3; the id's must not be 0";
  }
  flags.delimiter = flags.delimiter == "tab" ? "\t" : flags.delimiter;
  if (flags.delimiter.size() != 1) {
    return "--delimiter takes one character, or `tab`";
  }
  flags.csv.delimiter = flags.delimiter[0];
  flags.csv.unit_bytes = flags.zipf.unit_bytes;
  flags.zipf.sizes = flags.sizes == "web" ? cachesim::Sizes::web : cachesim::Sizes::unit;
  if (flags.run.fractions.empty()) {
    flags.run.fractions = {0.01, 0.1, 0.3};
  }
  for (const double fraction : flags.run.fractions) {
    if (!(fraction > 0 && fraction <= 1)) {
      return "--cache takes fractions of the footprint: more than 0, at most 1";
    }
  }
  const auto& names = cachesim::policyNames();
  if (flags.run.policies.empty()) {
    flags.run.policies.assign(names.begin(), names.end());
  }
  for (const std::string& policy : flags.run.policies) {
    if (std::find(names.begin(), names.end(), policy) == names.end()) {
      std::string all;
      for (const std::string_view name : names) {
        all += (all.empty() ? "" : ", ") + std::string(name);
      }
      return "there is no policy `" + policy + "`; there are " + all;
    }
  }
  const uint32_t segment = flags.run.segment_bytes;
  if (segment != 0 && (segment < store::kMinSegmentBytes || segment > store::kMaxSegmentBytes ||
                       segment % store::kPageBytes != 0)) {
    return "--segment-bytes must be a multiple of 4096 from 1048576 to 16777216";
  }
  return flags.trace_path.empty() ? cachesim::checkZipf(flags.zipf) : std::string();
}

// The trace of the flags; empty and `error` if there is none.
cachesim::Trace obtain(const Flags& flags, std::string& error) {
  if (flags.trace_path.empty()) {
    cachesim::Trace trace = cachesim::generateZipf(flags.zipf);
    trace.name = "zipf";
    return trace;
  }
  std::ifstream file(flags.trace_path, std::ios::binary);
  if (!file) {
    error = flags.trace_path + ": cannot be read";
    return {};
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  cachesim::CsvResult parsed = cachesim::parseCsv(text, flags.csv);
  if (!parsed.error.empty()) {
    error = flags.trace_path + ": " + parsed.error;
    return {};
  }
  parsed.trace.name = flags.trace_path.substr(flags.trace_path.rfind('/') + 1);
  return std::move(parsed.trace);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Replays a trace of requests through eviction policies");
  Flags flags;
  addFlags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  std::string error = check(flags);
  if (!error.empty()) {
    return refuse(error);
  }
  const cachesim::Trace trace = obtain(flags, error);
  if (!error.empty()) {
    return refuse(error);
  }
  const std::vector<cachesim::Row> rows = cachesim::run(trace, flags.run);
  std::fputs(cachesim::table(rows).c_str(), stdout);
  if (!flags.csv_path.empty()) {
    std::ofstream file(flags.csv_path, std::ios::binary);
    file << cachesim::csv(rows);
    file.close();
    if (!file) {
      std::fprintf(stderr, "cachesim: %s: cannot be written\n", flags.csv_path.c_str());
      return kExitFailed;
    }
  }
  return 0;
}
