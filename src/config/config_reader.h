#pragma once

#include "config/config_file.h"
#include "config/yaml_tree.h"

#include <mqsteer/error.h>

#include <string>

namespace mqsteer {

/// Fills a configuration from a YAML tree by the schema. Checks each value alone.
[[nodiscard]] Expected<LoadedConfig> read_config(const YamlNode& root, const std::string& file);

/// The names that may stand at the top of a file: the keys, then the sections.
[[nodiscard]] std::vector<std::string_view> top_level_names();

}  // namespace mqsteer
