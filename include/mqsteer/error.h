#pragma once

#include <cstring>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace mqsteer {

/// What was tried, what went wrong and how to mend it, in one line without a full stop.
///
/// code: an errno value, or 0 where the kernel or DPDK had no say in it
struct Error {
  int code = 0;
  std::string message;

  /// The line a user sees: the message, with the errno's text where there is one.
  [[nodiscard]] std::string text() const {
    return code == 0 ? message : message + ": " + std::strerror(code);
  }
};

template <class T>
using Expected = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(std::string message) {
  return tl::unexpected(Error{0, std::move(message)});
}

[[nodiscard]] inline tl::unexpected<Error> fail(int code, std::string message) {
  return tl::unexpected(Error{code, std::move(message)});
}

/// Exit codes of all mqsteer programs.
enum class Exit : int {
  kDone = 0,     ///< done and complete
  kUsage = 1,    ///< usage or configuration
  kRefused = 2,  ///< refused, or the system or the input would not let us
  kLost = 3,     ///< finished, but packets were lost; the summary has the figures
};

}  // namespace mqsteer
