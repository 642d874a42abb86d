#pragma once

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace mqsteer::test {

/// A guest of several queues: virtio-user, in this very process, on a vhost port's socket.
class Guest {
 public:
  static constexpr std::uint16_t kDescriptors = 256;

  Guest(const std::string& socket, std::uint16_t queues, rte_mempool* pool) {
    static int number = 0;
    name_ = "net_virtio_user" + std::to_string(number++);
    const std::string arguments = "path=" + socket + ",queues=" + std::to_string(queues) +
                                  ",queue_size=" + std::to_string(kDescriptors);
    check(rte_eal_hotplug_add("vdev", name_.c_str(), arguments.c_str()), "hotplug");
    check(rte_eth_dev_get_port_by_name(name_.c_str(), &port_), "port");
    rte_eth_conf conf{};
    check(rte_eth_dev_configure(port_, queues, queues, &conf), "configure");
    for (std::uint16_t queue = 0; queue < queues; ++queue) {
      check(rte_eth_rx_queue_setup(port_, queue, kDescriptors, 0, nullptr, pool), "RX queue");
      check(rte_eth_tx_queue_setup(port_, queue, kDescriptors, 0, nullptr), "TX queue");
    }
    check(rte_eth_dev_start(port_), "start");
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  Guest(Guest&&) = delete;
  Guest& operator=(Guest&&) = delete;
  ~Guest() {
    rte_eth_dev_stop(port_);
    rte_eth_dev_close(port_);
    rte_eal_hotplug_remove("vdev", name_.c_str());
  }

  /// Sends a frame on a queue; it is the port's from here. returns: false where the queue is full,
  /// the frame stays yours
  bool send(std::uint16_t queue, rte_mbuf* frame) {
    return rte_eth_tx_burst(port_, queue, &frame, 1) == 1;
  }
  /// Takes what has come on a queue and frees it. returns: how many frames
  unsigned receive(std::uint16_t queue) {
    std::array<rte_mbuf*, 32> frames;
    const std::uint16_t count = rte_eth_rx_burst(port_, queue, frames.data(), frames.size());
    rte_pktmbuf_free_bulk(frames.data(), count);
    return count;
  }

 private:
  static void check(int code, const char* what) {
    if (code != 0) throw std::runtime_error{std::string{"guest: "} + what + " failed"};
  }

  std::string name_;
  std::uint16_t port_ = 0;
};

}  // namespace mqsteer::test
