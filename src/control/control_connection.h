#pragma once

#include <mqsteer/descriptor.h>
#include <mqsteer/error.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace mqsteer {

/// One client of the control server: what it sent and what it is yet to read. Nothing blocks.
class ControlConnection {
 public:
  struct Limits {
    std::chrono::milliseconds half_line;
    std::chrono::milliseconds slow_reader;
    std::chrono::milliseconds silence;
  };

  /// client: a non-blocking stream socket
  explicit ControlConnection(Descriptor client) : client_{std::move(client)} {}

  [[nodiscard]] int fd() const noexcept { return client_.get(); }
  /// A reply waits to be read; until then no further request is looked at.
  [[nodiscard]] bool blocked() const noexcept { return written_ < output_.size(); }
  [[nodiscard]] bool has_line() const noexcept {
    return !blocked() && !closing_ && input_.find('\n', searched_) != std::string::npos;
  }
  /// To be destroyed: the client has gone, or was told why it is closed.
  [[nodiscard]] bool closed() const noexcept;

  /// Reads once, and never keeps more than a line of the longest length and a bit.
  void read_some(std::size_t max_line_bytes);
  void write_some();

  /// The next request, without its line end; an empty line is none. Says so, and closes, where a
  /// line is too long.
  std::optional<std::string> next_line(std::size_t max_line_bytes);

  /// Queues one line and sends what goes.
  void reply(std::string line);

  /// Whether a limit has run out; a half line is told so first.
  [[nodiscard]] bool overdue(const Limits& limits);

 private:
  using Clock = std::chrono::steady_clock;

  Descriptor client_;
  std::string input_;
  std::size_t searched_ = 0;  ///< no line end before this
  std::string output_;
  std::size_t written_ = 0;
  bool ended_ = false;    ///< the client sends no more
  bool broken_ = false;   ///< and reads no more
  bool closing_ = false;  ///< once the output is written
  Clock::time_point last_request_ = Clock::now();
  Clock::time_point line_began_ = Clock::now();
  Clock::time_point last_written_ = Clock::now();
};

}  // namespace mqsteer
