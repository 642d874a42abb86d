#pragma once

#include <mqsteer/error.h>

#include <string>
#include <string_view>

namespace mqsteer {

/// The commands with what they do and take, from the command table.
///
/// object: empty for all; else those of one object, with their keys explained
[[nodiscard]] std::string commands_help(std::string_view object);

/// A script that makes a shell complete mqsteerctl's words, for `source <(mqsteerctl --completion
/// bash)`.
///
/// shell: bash or zsh
[[nodiscard]] Expected<std::string> completion_script(std::string_view shell);

}  // namespace mqsteer
