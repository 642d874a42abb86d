#include "control/control_connection.h"

#include "control/request.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace mqsteer {

bool ControlConnection::closed() const noexcept {
  if (broken_) return true;
  if (blocked()) return false;
  // A line that came before the end of the stream is still answered; half of one is not.
  return closing_ || (ended_ && input_.find('\n', searched_) == std::string::npos);
}

void ControlConnection::read_some(std::size_t max_line_bytes) {
  if (ended_ || closing_ || input_.size() > max_line_bytes) return;
  std::array<char, 16384> buffer;
  const ssize_t length = recv(client_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (length > 0) {
    if (input_.empty()) line_began_ = Clock::now();
    input_.append(buffer.data(), static_cast<std::size_t>(length));
  } else if (length == 0) {
    ended_ = true;
  } else if (errno != EAGAIN && errno != EINTR) {
    broken_ = true;
  }
}

void ControlConnection::write_some() {
  while (blocked()) {
    const std::string_view rest = std::string_view{output_}.substr(written_);
    const ssize_t length =
        send(client_.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (length < 0) {
      if (errno == EINTR) continue;
      broken_ = broken_ || errno != EAGAIN;
      return;
    }
    written_ += static_cast<std::size_t>(length);
    last_written_ = Clock::now();
  }
  output_.clear();
  written_ = 0;
}

std::optional<std::string> ControlConnection::next_line(std::size_t max_line_bytes) {
  if (closing_) return std::nullopt;
  const std::size_t end = input_.find('\n', searched_);
  const std::size_t length = end == std::string::npos ? input_.size() : end;
  if (length > max_line_bytes) {
    closing_ = true;
    reply(error_line(
        {0, "request: the line is longer than " + std::to_string(max_line_bytes) + " bytes"}));
    return std::nullopt;
  }
  if (end == std::string::npos) {
    searched_ = input_.size();
    return std::nullopt;
  }
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 1);
  searched_ = 0;
  line_began_ = last_request_ = Clock::now();
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty()) return std::nullopt;
  return line;
}

void ControlConnection::reply(std::string line) {
  if (!blocked()) last_written_ = Clock::now();
  output_ += line += '\n';
  write_some();
}

bool ControlConnection::overdue(const Limits& limits) {
  const auto now = Clock::now();
  if (blocked()) return now - last_written_ > limits.slow_reader;
  if (!input_.empty() && !has_line() && now - line_began_ > limits.half_line) {
    reply(error_line({0, "request: the line was not finished within " +
                             std::to_string(limits.half_line.count()) + " ms"}));
    return true;
  }
  return now - last_request_ > limits.silence;
}

}  // namespace mqsteer
