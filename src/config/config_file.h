#pragma once

#include "config/key_origins.h"

#include <mqsteer/config.h>
#include <mqsteer/error.h>

#include <string>
#include <string_view>

namespace mqsteer {

struct LoadedConfig {
  Config config;
  KeyOrigins origins;
};

/// Reads a configuration: every key known, of its type and in its range, and everything checked
/// that needs no look at the machine (validate.h has the rest). Missing keys have their defaults.
///
/// errors: one line, `FILE:LINE: KEY: what is wrong; allowed: …`; of several, the first
/// thread: any; no exception of yaml-cpp escapes
[[nodiscard]] Expected<LoadedConfig> load_config(const std::string& path);

/// As load_config(), from memory. file_name stands in the messages.
[[nodiscard]] Expected<LoadedConfig> parse_config(std::string_view text,
                                                  const std::string& file_name);

/// The largest file that is read.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

/// The configuration in the file's format, every key with its value. parse_config() reads it back
/// to an equal Config.
[[nodiscard]] std::string to_yaml(const Config& config);

/// As to_yaml(), every key with what it means, what is allowed and its default: how
/// configs/mqsteer.yaml was made.
[[nodiscard]] std::string to_commented_yaml(const Config& config);

/// The configuration of `mqsteerd --bridge A,B`: two ports named after their interfaces (a byte
/// that a port name may not have becomes `_`), joined by the bridge `br0`; the rest are defaults,
/// but for 4,096 RX descriptors where a device is a kernel interface.
///
/// ports:  `eth1,eth2`; PCI addresses and vdev names without arguments work too
/// errors: name `--bridge`
[[nodiscard]] Expected<LoadedConfig> config_from_bridge_option(std::string_view ports);

/// A key set on the command line, over what the configuration has: {"--mode", "steering.mode",
/// "rps"}. Lists are written `0,2-3`.
struct OptionValue {
  std::string option;
  std::string key;
  std::string value;
};

/// errors: name the option. Checks the value alone; call validate() when all options are applied.
[[nodiscard]] Expected<void> apply_option(LoadedConfig& loaded, const OptionValue& option);

/// One key from its text, for `steering set mode=rps`. The config is unchanged on error.
///
/// key:    a path, for example `steering.mode`
/// errors: `KEY: what is wrong; allowed: …`. Checks the value alone; validate() checks the whole.
[[nodiscard]] Expected<void> set_key(Config& config, std::string_view key, std::string_view value);

/// One key as it stands in the file.
[[nodiscard]] Expected<std::string> get_key(const Config& config, std::string_view key);

/// What a key takes, for example `none, rps, soft-rss`; empty for an unknown key.
[[nodiscard]] std::string allowed_for(std::string_view key);

}  // namespace mqsteer
