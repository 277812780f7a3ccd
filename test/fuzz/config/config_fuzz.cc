// Goal: no text makes the configuration's reader crash, hang or contradict itself.
// Method: the bytes up to a zero byte are the file, the rest is the overlay. A snapshot appears
// exactly when there is no error; findings stay within their limit and in the text; a snapshot does
// not differ from itself; what its JSON says loads again to the same version; matching a few
// requests against it is safe.
#include <algorithm>
#include <cstdint>
#include <string>

#include "source/base/check.h"
#include "source/config/load/diff.h"
#include "source/config/load/load.h"

namespace {

void checkFindings(const std::vector<config::Finding>& findings, std::string_view text) {
  CHECK(findings.size() <= config::kMaxFindings);
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) +
                     static_cast<size_t>(std::count(text.begin(), text.end(), '\r')) + 2;
  for (const config::Finding& finding : findings) {
    CHECK(!finding.message.empty());
    CHECK(finding.line <= lines);
    CHECK(!finding.text().empty());
  }
}

void tryRequests(const config::Snapshot& snapshot) {
  http::RequestHead head;
  head.method = "GET";
  head.fields.add("Host", "www.example.com");
  head.fields.add("Accept", "a");
  head.fields.add("accept", "b");
  http::Fields scratch;
  for (const config::ListenerConfig& listener : snapshot.listeners) {
    for (const std::string_view host : {"www.example.com", "", "[::1]"}) {
      const config::VirtualHost* found = listener.routes.findHost(host);
      if (found == nullptr) {
        continue;
      }
      for (const std::string_view target : {"/", "/a?b=c&d", "*"}) {
        const config::Route* route = config::match(*found, head, target);
        if (route == nullptr) {
          continue;
        }
        http::Fields fields = head.fields;
        config::changeRequest(*found, *route, fields, scratch);
        std::string out;
        if (const auto* forward = std::get_if<config::ForwardAction>(&route->action)) {
          CHECK(forward->cluster < snapshot.clusters.size());
          config::appendUpstreamTarget(*route, target, out);
        } else if (std::holds_alternative<config::RedirectAction>(route->action)) {
          out = config::redirectLocation(*route, {"http", host, target});
        }
        CHECK(route->cache == config::kNone || route->cache < snapshot.caches.size());
      }
    }
  }
  if (snapshot.logging.access_log.has_value()) {
    config::AccessLogEntry entry;
    entry.request = &head;
    std::string line;
    config::appendLine(snapshot.logging.access_log->format, entry, line);
    CHECK(line.ends_with('\n'));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMaxInput = 1 << 16;
  const std::string_view input(reinterpret_cast<const char*>(data), std::min(size, kMaxInput));
  const size_t zero = std::min(input.find('\0'), input.size());
  config::Sources sources{"fuzz.yaml", std::string(input.substr(0, zero)), ""};
  if (zero < input.size()) {
    sources.overlay_yaml = input.substr(zero + 1);
  }
  config::LoadReport report;
  const auto loaded = config::load(sources, report);
  CHECK(loaded.has_value() == report.errors.empty());
  checkFindings(report.errors, input);
  checkFindings(report.warnings, input);
  if (!loaded.has_value()) {
    return 0;
  }
  CHECK(config::diff(*loaded->snapshot, *loaded->snapshot).changed.empty());
  tryRequests(*loaded->snapshot);
  config::LoadReport again;
  const auto second = config::load({"again.json", loaded->bootstrap_json, ""}, again);
  CHECK(second.has_value());
  CHECK(second->snapshot->version == loaded->snapshot->version);
  CHECK(config::diff(*loaded->snapshot, *second->snapshot).changed.empty());
  return 0;
}
