#include "options.h"

#include "config/validate.h"

#include <mqsteer/log.h>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

namespace mqsteer {
namespace {

constexpr const char* kDefaultFile = "/etc/mqsteer/mqsteer.yaml";
constexpr const char* kDescription =
    "Bridges pairs of ports; every flow is steered to one worker lcore, in order.\n"
    "Signals: SIGINT, SIGTERM drain and stop; SIGHUP reads the configuration again.";

/// An option that sets one key of the configuration.
void add_key(CLI::App& app, Options& options, const char* option, const char* key,
             const char* help) {
  app.add_option_function<std::string>(
         option,
         [&options, option, key](const std::string& value) {
           options.values.push_back({option, key, value});
         },
         std::string{help} + " (" + key + "; " + allowed_for(key) + ")")
      ->type_name("VALUE");
}

}  // namespace

std::variant<Options, Exit> parse_options(int argc, char** argv) {
  Options options;
  CLI::App app{kDescription, "mqsteerd"};
  app.set_version_flag("-V,--version", "mqsteerd " MQSTEER_VERSION);
  auto* config = app.add_option("-c,--config", options.config_path,
                                std::string{"configuration file (default "} + kDefaultFile + ")");
  auto* bridge =
      app.add_option("--bridge", options.bridge, "without a file: bridge two interfaces, A,B")
          ->excludes(config);
  app.add_option_function<std::string>(
         "--offloads",
         [&options](const std::string& value) {
           for (const char* key : {"ports[0].offloads", "ports[1].offloads"}) {
             options.values.push_back({"--offloads", key, value});
           }
         },
         "with --bridge: what becomes of offloads that a bridge cannot have (ports.offloads; " +
             allowed_for("ports[0].offloads") + ")")
      ->type_name("VALUE")
      ->needs(bridge);
  add_key(app, options, "--mode", "steering.mode", "steering mode");
  add_key(app, options, "--lcores", "lcores", "CPUs to poll and work on");
  add_key(app, options, "--workers", "steering.workers", "workers that flows are steered to");
  add_key(app, options, "--instance", "instance", "name of this instance");
  add_key(app, options, "--idle", "idle", "what an idle lcore does");
  add_key(app, options, "--hugepages", "hugepages", "where memory comes from");
  app.add_flag("--check", options.check, "check the configuration and end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error) == 0 ? Exit::kDone : Exit::kUsage;
    log_line(LogLevel::kError, std::string{error.what()} + "; see mqsteerd --help");
    return Exit::kUsage;
  }
  if (config->count() != 0 && options.config_path.empty()) {
    log_line(LogLevel::kError, "--config: an empty name; give a file");
    return Exit::kUsage;
  }
  if (options.config_path.empty() && options.bridge.empty()) {
    options.config_path = kDefaultFile;
    if (::access(kDefaultFile, F_OK) != 0) {
      log_line(LogLevel::kError, std::string{"there is no "} + kDefaultFile +
                                     "; give a file with --config, or two ports with --bridge A,B");
      return Exit::kUsage;
    }
  }
  return options;
}

Expected<LoadedConfig> load(const Options& options) {
  auto loaded = options.bridge.empty() ? load_config(options.config_path)
                                       : config_from_bridge_option(options.bridge);
  if (!loaded) return loaded;
  for (const OptionValue& value : options.values) {
    if (auto applied = apply_option(*loaded, value); !applied) {
      return tl::unexpected(applied.error());
    }
  }
  const auto machine = machine_facts();
  if (!machine) return tl::unexpected(machine.error());
  if (auto valid = validate(loaded->config, *machine, loaded->origins); !valid) {
    return tl::unexpected(valid.error());
  }
  return loaded;
}

}  // namespace mqsteer
