// The command line (flags follow Envoy's), and nothing else.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "source/server/options.h"
#include "source/server/server.h"

namespace {

// Flags that were given, for /server_info.
void noteGiven(const CLI::App& app, server::Options& options) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->results().empty()) {
      continue;
    }
    std::string name = option->get_lnames().empty() ? "" : option->get_lnames().front();
    for (char& c : name) {
      c = c == '-' ? '_' : c;
    }
    options.given.emplace_back(name, option->results().front());
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Ringfence, a reverse cache");
  app.set_version_flag("--version", std::string("ringfence ") + server::kVersion);
  server::Options options;
  std::string mode = "serve";
  std::string level;
  uint32_t concurrency = 0;
  uint32_t drain_time_s = 0;
  app.add_option("-c,--config-path", options.config_path, "Configuration file (YAML)");
  app.add_option("--config-yaml", options.config_yaml, "YAML merged over the file");
  app.add_option("--mode", mode, "serve, or validate: check the configuration and exit")
      ->check(CLI::IsMember({"serve", "validate"}));
  CLI::Option* shards =
      app.add_option("--concurrency", concurrency, "Shards; overrides runtime.shards")
          ->check(CLI::Range(1, 256));
  app.add_option("--log-level", level, "trace, debug, info, warning, error, critical or off");
  app.add_option("--admin-address-path", options.admin_address_path,
                 "File to write the admin's address to, for port 0");
  CLI::Option* drain = app.add_option("--drain-time-s", drain_time_s,
                                      "Seconds that a shutdown waits for requests to end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? server::kExitOk : server::kExitUsage;
  }
  if (options.config_path.empty() && options.config_yaml.empty()) {
    std::fprintf(stderr,
                 "ringfence: give a configuration with -c FILE or --config-yaml TEXT; "
                 "see --help\n");
    return server::kExitUsage;
  }
  if (!level.empty()) {
    options.log_level = telemetry::parseLogLevel(level);
    if (!options.log_level.has_value()) {
      std::fprintf(stderr,
                   "ringfence: --log-level %s: use trace, debug, info, warning, error, "
                   "critical or off\n",
                   level.c_str());
      return server::kExitUsage;
    }
  }
  options.mode = mode == "validate" ? server::Mode::validate : server::Mode::serve;
  if (shards->count() > 0) {
    options.concurrency = concurrency;
  }
  if (drain->count() > 0) {
    options.drain_time_s = drain_time_s;
  }
  noteGiven(app, options);
  server::Server server(options);
  return server.run();
}
