#pragma once

#include "mqrr/net.h"

#include <mqsteer/error.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace mqsteer::rr_kernel {

/// A server that sends back what it gets, on kernel sockets: the other end of run_client(), and
/// what the rr handler is held against. Each thread has a listening socket of its own on the same
/// port (SO_REUSEPORT), so the kernel spreads the connections over them.
class Server {
 public:
  struct Config {
    Endpoint listen;
    unsigned threads = 1;
  };
  /// Listens from the return on. errors: the address or port is not to be had
  static Expected<std::unique_ptr<Server>> start(const Config& config);

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  Server(Server&&) = delete;
  Server& operator=(Server&&) = delete;
  ~Server();  ///< stop()

  /// Ends the threads; connections are closed. Harmless when called twice.
  void stop();

  struct Figures {
    std::uint64_t connections = 0;  ///< accepted so far
    std::uint64_t refused = 0;      ///< closed at once for want of descriptors
    std::uint64_t bytes = 0;        ///< sent back
  };
  [[nodiscard]] Figures figures() const noexcept;
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  class Worker;
  Server();

  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
  Descriptor wake_;
  std::uint16_t port_ = 0;
};

}  // namespace mqsteer::rr_kernel
