#pragma once

#include "runtime/snapshot.h"

#include <mqsteer/error.h>

#include <functional>

namespace mqsteer {

/// Our commands on DPDK's telemetry socket: /mqsteer/totals, /mqsteer/port,N and /mqsteer/worker,N,
/// N counting from 0 in the configuration's and the plan's order. Read only; null for a port or
/// worker that is not there.
///
/// DPDK calls them on threads of its own, while a snapshot may be taken on the control thread
/// only: the command asks for one (fd() becomes readable) and waits at most a second for serve().
///
/// thread: the control thread, all members; at most one at a time in a process
class Telemetry {
 public:
  /// Needs no EAL yet; DPDK's socket is there once EAL is up. take outlives the object.
  static Expected<Telemetry> start(std::function<Snapshot()> take);

  Telemetry(Telemetry&& other) noexcept;
  Telemetry& operator=(Telemetry&& other) noexcept;
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;
  /// Commands still answer, with null. (DPDK cannot unregister.)
  ~Telemetry();

  /// Readable (EPOLLIN, level-triggered) while a command waits for a snapshot.
  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// Takes the snapshot that was asked for; returns at once where none was.
  void serve();

 private:
  Telemetry(int fd, std::function<Snapshot()> take) noexcept;
  void stop() noexcept;

  int fd_ = -1;  ///< an eventfd; -1: moved from
  std::function<Snapshot()> take_;
};

}  // namespace mqsteer
