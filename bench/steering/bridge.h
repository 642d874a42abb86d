#pragma once

#include "eal/eal.h"
#include "rig.h"

#include <chrono>
#include <memory>

namespace mqsteer::bench {

/// Two net_null ports: receiving takes an mbuf, transmitting frees it. Every mbuf of their pools
/// was filled with a 64-byte TCP frame of one of 1,024 flows beforehand, and net_null leaves it
/// alone.
class NullPorts {
 public:
  static Expected<std::unique_ptr<NullPorts>> open();

  /// Receives on one port and transmits on the other, as testpmd's io mode does. lcores: 1 or 2
  Run run_io(const Eal& eal, unsigned lcores, std::chrono::milliseconds length);
  /// The project's own loop with rps and Forward over the same ports. lcores: 1 or 2
  Run run_rps(const Eal& eal, unsigned lcores, std::chrono::milliseconds length);

 private:
  struct End {
    std::unique_ptr<Mempool> pool;
    std::unique_ptr<Port> port;
  };
  static Expected<End> open_end(const char* name);
  std::array<End, 2> ends_;
};

}  // namespace mqsteer::bench
