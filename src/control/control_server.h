#pragma once

#include "control/instance_lock.h"

#include <mqsteer/error.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace mqsteer {

struct ControlConfig {
  std::string instance = "mqsteer";
  std::string runtime_directory = kRuntimeDirectory;

  std::size_t max_clients = 32;                       ///< one more is told so and closed
  std::size_t max_line_bytes = 64 << 10;              ///< of a request; more: told so and closed
  std::chrono::milliseconds half_line_limit{2000};    ///< from a line's first byte to its last
  std::chrono::milliseconds slow_reader_limit{2000};  ///< a reply that is not read: closed
  std::chrono::milliseconds silence_limit{120'000};   ///< without a request: closed
};

/// The answer to one request, both without line end. Called from ControlServer::serve().
using LineHandler = std::function<std::string(std::string_view line)>;

/// The socket that mqsteerctl talks to: RUNTIME_DIRECTORY/INSTANCE/control.sock, mode 0660.
///
/// It has no thread: whoever owns it adds fd() to an epoll set and calls serve() when it is
/// readable. serve() never blocks on a client, answers one request of each client per call, and
/// takes whatever bytes come.
///
///     auto server = ControlServer::listen({.instance = config.instance},
///                                         [&](auto line) { return answer(target, line); });
///
/// thread: the control thread, all members
class ControlServer {
 public:
  /// The socket file of a daemon that crashed is replaced; one that somebody listens on is not.
  /// The handler, and what it uses, outlives the server.
  static Expected<ControlServer> listen(const ControlConfig& config, LineHandler handler);

  ControlServer(ControlServer&& other) noexcept;
  ControlServer& operator=(ControlServer&& other) noexcept;
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  ~ControlServer();  ///< closes all connections and removes the socket file

  /// Readable (EPOLLIN, level-triggered) while there is something for serve() to do.
  [[nodiscard]] int fd() const noexcept;
  /// Handles what is ready; returns at once where nothing is.
  void serve();

  [[nodiscard]] std::size_t clients() const noexcept;
  [[nodiscard]] const std::string& path() const noexcept;

 private:
  class Impl;
  explicit ControlServer(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mqsteer
