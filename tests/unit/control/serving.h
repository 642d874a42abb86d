#pragma once

#include "control/control_server.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

namespace mqsteer::test {

/// A control server with a thread that serves it, as the control thread of a daemon does.
class Serving {
 public:
  Serving(const ControlConfig& config, LineHandler handler) {
    auto server = ControlServer::listen(config, std::move(handler));
    if (!server) throw std::runtime_error(server.error().text());
    server_ = std::make_unique<ControlServer>(std::move(*server));
    thread_ = std::thread{[this] { run(); }};
  }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;
  Serving(Serving&&) = delete;
  Serving& operator=(Serving&&) = delete;
  ~Serving() { end(); }

  /// As the daemon's clean stop. Harmless when called twice.
  void end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    server_.reset();
  }

  [[nodiscard]] std::string path() const { return server_->path(); }
  [[nodiscard]] std::size_t clients() const { return clients_; }
  /// The longest that one call of serve() took.
  [[nodiscard]] std::chrono::microseconds longest() const {
    return std::chrono::microseconds{longest_us_};
  }

 private:
  void run() {
    while (!stop_) {
      pollfd ready{.fd = server_->fd(), .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, 5) == 0) continue;
      const auto began = std::chrono::steady_clock::now();
      server_->serve();
      const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::steady_clock::now() - began);
      longest_us_ = std::max<long>(longest_us_, took.count());
      clients_ = server_->clients();
    }
  }

  std::unique_ptr<ControlServer> server_;
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> clients_{0};
  std::atomic<long> longest_us_{0};
  std::thread thread_;
};

}  // namespace mqsteer::test
