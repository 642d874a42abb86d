#pragma once

#include "control/command_table.h"
#include "control/control_client.h"

#include <mqsteer/error.h>

#include <cstdint>
#include <string>
#include <variant>

namespace mqsteer {

enum class Format : std::uint8_t { kText, kJson, kPrettyJson };
enum class ColourChoice : std::uint8_t { kAuto, kAlways, kNever };

/// A command to run.
struct Invocation {
  ClientConfig client;
  Format format = Format::kText;
  ColourChoice colour = ColourChoice::kAuto;
  const CommandSpec* command = nullptr;
  KeyValues keys;
};

/// Text to print instead: help, version, completion.
struct Notice {
  std::string text;
};

/// errors: one line; the exit code is then kUsage
[[nodiscard]] Expected<std::variant<Invocation, Notice>> parse_options(int argc, char** argv);

/// The format that the command line asks for, also where it is wrong otherwise: errors follow it.
[[nodiscard]] Format format_of(int argc, char** argv);

}  // namespace mqsteer
