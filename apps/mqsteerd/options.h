#pragma once

#include "config/config_file.h"

#include <mqsteer/error.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mqsteer {

/// The command line of mqsteerd.
struct Options {
  std::string config_path;          ///< empty: --bridge
  std::string bridge;               ///< "eth1,eth2"
  std::vector<OptionValue> values;  ///< over the file or the defaults
  bool check = false;               ///< check the configuration, and end
};

/// The options, or the exit code where there is nothing to run (--help, --version, wrong usage;
/// what is to be said has been said).
[[nodiscard]] std::variant<Options, Exit> parse_options(int argc, char** argv);

/// The configuration that the options mean, checked against this machine. Reads the file again, so
/// a reload is the same call.
[[nodiscard]] Expected<LoadedConfig> load(const Options& options);

}  // namespace mqsteer
