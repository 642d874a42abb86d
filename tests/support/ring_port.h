#pragma once

#include "port/port.h"

#include <cstdint>
#include <string>

namespace mqsteer::test {

/// What open_port() would say of a port that rte_eth_from_rings() has made.
[[nodiscard]] inline PortCapabilities ring_port(std::uint16_t id, const std::string& name,
                                                std::uint16_t tx_queues) {
  PortCapabilities port;
  port.id = PortId{id};
  port.name = name;
  port.device = "net_ring_" + name;
  port.driver = "net_ring";
  port.profile = &profile_of("net_ring");
  port.max_tx_queues = tx_queues;
  port.max_rx_descriptors = port.max_tx_descriptors = 4096;
  return port;
}

}  // namespace mqsteer::test
