#pragma once

#include "control/text_table.h"
#include "options.h"

#include <mqsteer/error.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace mqsteer {

using Json = nlohmann::ordered_json;

/// Whether standard output is a terminal that moves its cursor.
[[nodiscard]] bool on_terminal();

/// auto: on a terminal, unless NO_COLOR is set (no-color.org).
[[nodiscard]] Paint paint_for(ColourChoice choice);

[[nodiscard]] std::string json_text(const Json& json, Format format);

/// Why a command failed, and the exit code for it.
struct Failure {
  Error error;
  Exit exit = Exit::kRefused;
};
template <class T>
using Outcome = tl::expected<T, Failure>;

/// A daemon's answer line as JSON, or the error that it is.
[[nodiscard]] Outcome<Json> parse_answer(const std::string& line);

/// Writes and flushes, so that a full disk is noticed.
[[nodiscard]] Expected<void> print(std::string_view text);

/// One line on standard error; with a JSON format `{"error": …}` on standard output.
void report(const Error& error, Format format);

}  // namespace mqsteer
