#pragma once

#include "control/command_table.h"
#include "control/text_table.h"

#include <mqsteer/error.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mqsteer {

using Json = nlohmann::ordered_json;

/// The text that people see of a command's answer, with its last line end.
///
/// errors: an answer that lacks what the text needs, as of a daemon of another version
[[nodiscard]] Expected<std::string> text_of(CommandId command, const Json& answer,
                                            const Paint& paint);

/// "12.5 MiB": bytes with the largest binary unit that leaves a whole one.
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

/// "1h 2m 3s"
[[nodiscard]] std::string span_text(std::uint64_t seconds);

}  // namespace mqsteer
