#pragma once

#include <mqsteer/descriptor.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>

namespace mqsteer::test {

/// A client that may send anything.
class RawClient {
 public:
  explicit RawClient(const std::string& path)
      : socket_{socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    connected_ =
        connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }

  [[nodiscard]] bool connected() const noexcept { return connected_; }
  [[nodiscard]] int fd() const noexcept { return socket_.get(); }

  /// As much as goes without waiting longer than a second. returns: bytes sent
  std::size_t send(std::string_view bytes) const {
    std::size_t sent = 0;
    while (sent < bytes.size() && ready(POLLOUT, 1000)) {
      const ssize_t length = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent,
                                    MSG_NOSIGNAL | MSG_DONTWAIT);
      if (length <= 0) break;
      sent += static_cast<std::size_t>(length);
    }
    return sent;
  }

  /// The next line without its end, or what came until the end of the stream or two seconds.
  std::string line() {
    while (input_.find('\n') == std::string::npos && ready(POLLIN, 2000)) {
      std::array<char, 65536> buffer;
      const ssize_t length = recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (length <= 0) break;
      input_.append(buffer.data(), static_cast<std::size_t>(length));
    }
    const std::size_t end = input_.find('\n');
    std::string line = input_.substr(0, end);
    input_.erase(0, end == std::string::npos ? end : end + 1);
    return line;
  }

  /// Whether the server closes the connection within `limit_ms`, whatever it says before.
  [[nodiscard]] bool closed_within(int limit_ms) const {
    std::array<char, 65536> buffer;
    while (ready(POLLIN, limit_ms)) {
      if (recv(socket_.get(), buffer.data(), buffer.size(), 0) <= 0) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] bool ready(short events, int limit_ms) const {
    pollfd wanted{.fd = socket_.get(), .events = events, .revents = 0};
    return poll(&wanted, 1, limit_ms) == 1;
  }

  Descriptor socket_;
  bool connected_ = false;
  std::string input_;
};

}  // namespace mqsteer::test
