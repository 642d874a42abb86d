#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace mqsteer {

/// How much a line matters; its word stands before the line. Notices have none.
enum class LogLevel : std::uint8_t { kNotice, kWarning, kError };

/// The name before every line. Set it once, before threads start.
inline std::string& log_program() {
  static std::string name = "mqsteer";
  return name;
}

/// One line to standard error, `PROGRAM: warning: TEXT`, written at once and whole, so that lines
/// of several processes on one terminal do not mix. Control threads only: the data path counts and
/// does not log. Called for changes of state, never for packets, so the number of lines is bounded
/// by what happens to the system and not by the traffic.
inline void log_line(LogLevel level, std::string_view text) {
  std::string line = log_program() + ": ";
  if (level == LogLevel::kWarning) line += "warning: ";
  if (level == LogLevel::kError) line += "error: ";
  line += text;
  line += '\n';
  // Nothing can be done about a log that cannot be written.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace mqsteer
