#pragma once

#include "control/instance_lock.h"

#include <mqsteer/descriptor.h>
#include <mqsteer/error.h>

#include <chrono>
#include <string>
#include <string_view>

namespace mqsteer {

struct ClientConfig {
  std::string instance = "mqsteer";
  std::string socket_path;  ///< empty: that of the instance
  std::string runtime_directory = kRuntimeDirectory;
  std::chrono::milliseconds limit{2000};  ///< for connecting, and for each answer

  [[nodiscard]] std::string path() const;
};

/// The client's end of the control socket. Blocks, but never longer than the limit.
class ControlClient {
 public:
  /// errors: one line that tells no daemon, no permission and an unknown instance apart
  static Expected<ControlClient> connect(const ClientConfig& config);

  /// One request and its answer, both a line without its end.
  [[nodiscard]] Expected<std::string> ask(std::string_view request);

  /// Lets time pass. Ends early, with false, when the daemon closes the connection or a signal
  /// comes.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point until) const;

 private:
  ControlClient(Descriptor socket, ClientConfig config)
      : socket_{std::move(socket)}, config_{std::move(config)} {}
  Expected<void> send_line(std::string_view request);
  Expected<std::string> read_line();

  Descriptor socket_;
  ClientConfig config_;
  std::string input_;  ///< read, but not yet given out
};

}  // namespace mqsteer
