#include "test/sim/proxy_config.h"

#include <string>
#include <string_view>

#include "source/config/load/load.h"
#include "test/sim/origin.h"

namespace sim {
namespace {

constexpr std::string_view kText = R"(
static_resources:
  listeners:
  - name: http
    address: { socket_address: { address: 127.0.0.1, port_value: 80 } }
    route_config:
      virtual_hosts:
      - name: everything
        domains: ["*"]
NUMBER
        routes:
        - match: { prefix: "/" }
          route: { cluster: origin, timeout: TIMEOUTs }
          cache: { store: main, SLICE }
  clusters:
  - name: origin
    connect_timeout: 2s
    load_assignment:
      endpoints:
      - lb_endpoints:
ENDPOINTS
  caches:
  - name: main
    path: cache
    max_size_bytes: 33554432
)";

void replace(std::string& text, std::string_view what, const std::string& with) {
  text.replace(text.find(what), what.size(), with);
}

}  // namespace

std::shared_ptr<const config::Snapshot> loadProxyConfig(Judge& judge, const ProxyConfig& config) {
  std::string number;
  if (config.number.has_value()) {
    number = "        response_headers_to_add: [ { header: { key: X-Config, value: \"" +
             std::to_string(*config.number) + "\" } } ]\n";
  }
  std::string endpoints;
  for (uint32_t i = 0; i < config.endpoints; i++) {
    endpoints +=
        "        - endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: " +
        std::to_string(Origin::kPort + i) + " } } }\n";
  }
  std::string text(kText);
  replace(text, "NUMBER", number);
  replace(text, "TIMEOUT", std::to_string(config.timeout_s));
  replace(text, "ENDPOINTS", endpoints);
  replace(text, "SLICE", config.slices ? "slice: { block_bytes: 65536 }" : "");
  config::Sources sources;
  sources.text = text;
  config::LoadReport report;
  std::shared_ptr<const config::Snapshot> snapshot = config::loadSnapshot(sources, report);
  judge.require(snapshot != nullptr, report.text());
  return snapshot;
}

}  // namespace sim
