#pragma once

#include "port/port.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mqsteer {

inline constexpr std::uint32_t kHeaderBytes = 14;
inline constexpr std::uint32_t kTwoTagsBytes = 8;

/// Puts the parts of a port in order, one step after the other.
class Bringup {
 public:
  Bringup(PortCapabilities& port, const PortSetup& setup, std::vector<std::string>& notes)
      : port_{port}, setup_{setup}, notes_{notes}, id_{port.id.value()} {}

  Expected<void> run();

  std::uint16_t rx_queues = 0;
  std::uint16_t tx_queues = 0;
  std::uint16_t mtu = 0;
  bool checksums = false;  ///< TX checksums are computed on request

 private:
  Expected<void> check();
  void cut_queues();
  Expected<void> choose_mtu();
  Expected<void> check_pools();
  Expected<void> configure();
  Expected<void> set_up_queues();
  Expected<void> start();
  void spread();
  void receive_everything();

  void note(const std::string& text) { notes_.push_back("port " + port_.name + ": " + text); }
  [[nodiscard]] std::uint64_t rx_offloads() const;
  [[nodiscard]] std::uint16_t largest_frame() const {
    return static_cast<std::uint16_t>(kHeaderBytes + kTwoTagsBytes + mtu);
  }

  PortCapabilities& port_;
  const PortSetup& setup_;
  std::vector<std::string>& notes_;
  std::uint16_t id_;
  rte_eth_dev_info info_{};
  rte_eth_conf conf_{};
  std::array<std::uint8_t, 256> key_{};
};

}  // namespace mqsteer
