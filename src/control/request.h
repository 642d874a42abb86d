#pragma once

#include "control/command_table.h"

#include <mqsteer/error.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace mqsteer {

/// A request as it goes over the control socket. Its words are not yet held against the table.
struct Request {
  std::string object;
  std::string command;  ///< may be empty
  KeyValues keys;
};

/// The most brackets that a request or reply may have open at once.
inline constexpr std::size_t kMaxNesting = 32;

/// Whether some JSON text opens more brackets than that. Takes any bytes.
[[nodiscard]] bool too_deep(std::string_view text) noexcept;

/// line: any bytes, without line end. Values of keys may be text, numbers, true and false.
/// errors: what is wrong with the line
[[nodiscard]] Expected<Request> parse_request(std::string_view line);

/// One line, without its end.
[[nodiscard]] std::string request_line(const Request& request);

/// Whose fault it is that a request fails.
enum class Fault : std::uint8_t {
  kRefused,   ///< the box cannot do it, or not now
  kMalformed  ///< the words are wrong for every box
};

/// `{"error":{"what":…,"allowed":…}}`, without line end. "allowed" is empty where nothing is
/// listed; a malformed request has `"malformed":true` besides.
[[nodiscard]] std::string error_line(const Error& error, Fault fault = Fault::kRefused);

}  // namespace mqsteer
