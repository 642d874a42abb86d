#include "port/bringup.h"

#include "eal/dpdk_log.h"
#include "port/device.h"
#include "port/kernel_interface.h"

#include <rte_errno.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>

namespace mqsteer {
namespace {

/// The key of Microsoft's RSS verification suite: all its 16-bit windows differ, unlike the
/// symmetric 6D5A key's, which has 16 bits of entropy. Software computes its own hash anyway.
constexpr std::array<std::uint8_t, 40> kRssKey{
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

constexpr std::chrono::milliseconds kKernelLetsGo{200};

tl::unexpected<Error> port_fault(const PortCapabilities& port, int code, const std::string& what) {
  return fail(code < 0 ? -code : code, "port " + port.name + " (" + port.device + "): " + what);
}

std::uint16_t power_of_two_below(std::uint16_t value) {
  return std::bit_floor(value);
}

}  // namespace

Expected<void> Bringup::run() {
  if (const int code = rte_eth_dev_info_get(id_, &info_); code != 0) {
    return port_fault(port_, code, "asking the device what it can do");
  }
  cut_queues();
  for (const auto step : {&Bringup::check, &Bringup::choose_mtu, &Bringup::check_pools,
                          &Bringup::configure, &Bringup::set_up_queues, &Bringup::start}) {
    if (auto done = (this->*step)(); !done) return done;
  }
  spread();
  receive_everything();
  return {};
}

void Bringup::cut_queues() {
  rx_queues = std::min(setup_.rx_queues, port_.max_rx_queues);
  tx_queues = std::min(setup_.tx_queues, port_.max_tx_queues);
  if (rx_queues < setup_.rx_queues) {
    note(std::to_string(setup_.rx_queues) + " RX queues wanted, " + port_.driver + " has " +
         std::to_string(rx_queues));
  }
  if (tx_queues < setup_.tx_queues) {
    note(std::to_string(setup_.tx_queues) + " TX queues wanted, " + port_.driver + " has " +
         std::to_string(tx_queues));
  }
  if (port_.paired_queues && rx_queues != tx_queues) {
    rx_queues = tx_queues = std::max(rx_queues, tx_queues);
    note(port_.driver + " has queues in pairs: " + std::to_string(rx_queues) + " of each");
  }
}

Expected<void> Bringup::check() {
  if (rx_queues == 0 || tx_queues == 0) {
    return port_fault(port_, 0, "needs at least one RX and one TX queue");
  }
  if (rx_queues < port_.min_rx_queues) {
    return port_fault(port_, 0,
                      "has " + std::to_string(port_.min_rx_queues) + " channels and gets " +
                          std::to_string(rx_queues) +
                          " RX queues: frames of the others would stay with the kernel; "
                          "run: ethtool -L " +
                          port_.device + " combined " + std::to_string(rx_queues));
  }
  if (setup_.rx_pools.size() < rx_queues) {
    return port_fault(port_, 0,
                      std::to_string(rx_queues) + " RX queues but " +
                          std::to_string(setup_.rx_pools.size()) + " mempools");
  }
  return {};
}

Expected<void> Bringup::choose_mtu() {
  mtu = setup_.mtu.value_or(port_.mtu);
  if (mtu > port_.max_mtu) {
    return port_fault(port_, 0,
                      "an MTU of " + std::to_string(mtu) + " is above the " +
                          std::to_string(port_.max_mtu) + " that " + port_.driver +
                          " takes; lower mtu");
  }
  constexpr std::uint16_t kLeastMtu = 68;  // RFC 791
  if (mtu < kLeastMtu) {
    return port_fault(port_, 0, "an MTU of " + std::to_string(mtu) + " is below 68, IPv4's least");
  }
  if (port_.handle == nullptr) return {};
  KernelInterface* const kernel = port_.handle->kernel_interface();
  return kernel == nullptr ? Expected<void>{} : kernel->set_mtu(mtu);
}

Expected<void> Bringup::check_pools() {
  for (std::uint16_t queue = 0; queue < rx_queues; ++queue) {
    const rte_mempool& pool = *setup_.rx_pools[queue]->raw();
    const std::uint16_t room = setup_.rx_pools[queue]->data_room_bytes();
    if (room > port_.profile->max_data_room_bytes) {
      return port_fault(port_, 0,
                        "a data room of " + std::to_string(room) + " bytes is above the " +
                            std::to_string(port_.profile->max_data_room_bytes) + " that " +
                            port_.driver + " takes");
    }
    if (port_.profile->paired_queues && pool.nb_mem_chunks != 1) {
      return port_fault(port_, 0,
                        port_.driver + " needs mempool " + std::string{pool.name} +
                            " in one piece; free more hugepages of one size, or use none");
    }
    const bool scatters = (rx_offloads() & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
    if (!scatters && port_.frame_bytes_in(room) < largest_frame()) {
      return port_fault(port_, 0,
                        "a frame of MTU " + std::to_string(mtu) + " does not fit in mbufs of " +
                            std::to_string(room) + " bytes, and " + port_.driver +
                            " does not split it");
    }
  }
  return {};
}

std::uint64_t Bringup::rx_offloads() const {
  return info_.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
}

Expected<void> Bringup::configure() {
  conf_.rxmode.mtu = mtu;
  conf_.txmode.offloads = info_.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  const bool whole_frames_fit = std::ranges::all_of(setup_.rx_pools, [this](const Mempool* pool) {
    return port_.frame_bytes_in(pool->data_room_bytes()) >= largest_frame();
  });
  // Only where needed: scattered receive is slower.
  conf_.rxmode.offloads = whole_frames_fit ? 0 : rx_offloads();
  if (setup_.checksums) {
    constexpr std::uint64_t kTx =
        RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    checksums = (info_.tx_offload_capa & kTx) == kTx;
    if (checksums) conf_.txmode.offloads |= kTx;
    conf_.rxmode.offloads |= info_.rx_offload_capa & RTE_ETH_RX_OFFLOAD_CHECKSUM;
  }
  if (rx_queues > 1 && port_.rss_types != 0) {
    for (std::size_t i = 0; i < key_.size(); ++i) key_[i] = kRssKey[i % kRssKey.size()];
    conf_.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf_.rx_adv_conf.rss_conf.rss_hf = port_.rss_types;
    if (info_.hash_key_size > 0) {
      conf_.rx_adv_conf.rss_conf.rss_key = key_.data();
      conf_.rx_adv_conf.rss_conf.rss_key_len = info_.hash_key_size;
    }
  }
  const DpdkLogCapture capture;
  if (const int code = rte_eth_dev_configure(id_, rx_queues, tx_queues, &conf_); code != 0) {
    return port_fault(
        port_, code,
        with_dpdk_reason("configuring " + std::to_string(rx_queues) + " RX and " +
                             std::to_string(tx_queues) + " TX queues, MTU " + std::to_string(mtu),
                         capture));
  }
  return {};
}

Expected<void> Bringup::set_up_queues() {
  std::uint16_t rx_slots = setup_.rx_descriptors;
  std::uint16_t tx_slots = setup_.tx_descriptors;
  static_cast<void>(rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx_slots, &tx_slots));
  if (port_.profile->power_of_two_rings) {
    rx_slots = power_of_two_below(rx_slots);
    tx_slots = power_of_two_below(tx_slots);
  }
  if (rx_slots != setup_.rx_descriptors) {
    note(std::to_string(setup_.rx_descriptors) + " RX descriptors wanted, " + port_.driver +
         " gets " + std::to_string(rx_slots));
  }
  if (tx_slots != setup_.tx_descriptors) {
    note(std::to_string(setup_.tx_descriptors) + " TX descriptors wanted, " + port_.driver +
         " gets " + std::to_string(tx_slots));
  }
  rte_eth_rxconf rx = info_.default_rxconf;
  rx.offloads = conf_.rxmode.offloads;
  // One RX queue that nobody drains would stop all the others.
  rx.rx_drop_en = rx_queues > 1 ? 1 : 0;
  rte_eth_txconf tx = info_.default_txconf;
  tx.offloads = conf_.txmode.offloads;
  const auto numa_node = static_cast<unsigned>(rte_eth_dev_socket_id(id_));
  const DpdkLogCapture capture;
  for (std::uint16_t queue = 0; queue < rx_queues; ++queue) {
    int code = -1;
    // After a kill -9 the kernel takes a moment to let go of an interface's AF_XDP queues.
    for (int attempt = 0; code != 0 && attempt < (port_.profile->kernel_interface ? 5 : 1);
         ++attempt) {
      if (attempt != 0) std::this_thread::sleep_for(kKernelLetsGo);
      code = rte_eth_rx_queue_setup(id_, queue, rx_slots, numa_node, &rx,
                                    setup_.rx_pools[queue]->raw());
    }
    if (code != 0) {
      return port_fault(port_, code,
                        with_dpdk_reason("setting up RX queue " + std::to_string(queue) + " with " +
                                             std::to_string(rx_slots) + " descriptors",
                                         capture));
    }
  }
  for (std::uint16_t queue = 0; queue < tx_queues; ++queue) {
    if (const int code = rte_eth_tx_queue_setup(id_, queue, tx_slots, numa_node, &tx); code != 0) {
      return port_fault(port_, code,
                        with_dpdk_reason("setting up TX queue " + std::to_string(queue) + " with " +
                                             std::to_string(tx_slots) + " descriptors",
                                         capture));
    }
  }
  return {};
}

Expected<void> Bringup::start() {
  const DpdkLogCapture capture;
  if (const int code = rte_eth_dev_start(id_); code != 0) {
    return port_fault(port_, code, with_dpdk_reason("starting", capture));
  }
  return {};
}

/// The indirection table, entry i to queue i mod n. After the start: ixgbe loses it earlier.
void Bringup::spread() {
  if (conf_.rxmode.mq_mode != RTE_ETH_MQ_RX_RSS || port_.reta_entries == 0) return;
  const std::uint16_t entries = port_.reta_entries;
  std::vector<rte_eth_rss_reta_entry64> table((entries + RTE_ETH_RETA_GROUP_SIZE - 1U) /
                                              RTE_ETH_RETA_GROUP_SIZE);
  for (std::uint16_t entry = 0; entry < entries; ++entry) {
    rte_eth_rss_reta_entry64& group = table[entry / RTE_ETH_RETA_GROUP_SIZE];
    group.mask |= 1ULL << (entry % RTE_ETH_RETA_GROUP_SIZE);
    group.reta[entry % RTE_ETH_RETA_GROUP_SIZE] = entry % rx_queues;
  }
  const DpdkLogCapture capture;
  if (const int code = rte_eth_dev_rss_reta_update(id_, table.data(), entries); code != 0) {
    note(with_dpdk_reason("the NIC keeps its own indirection table, since writing one failed",
                          capture));
  } else if (entries % rx_queues != 0) {
    note(std::to_string(entries) + " indirection entries over " + std::to_string(rx_queues) +
         " RX queues are uneven: some queues get " + std::to_string(entries / rx_queues + 1) +
         " entries, some " + std::to_string(entries / rx_queues));
  }
}

void Bringup::receive_everything() {
  KernelInterface* const kernel =
      port_.handle == nullptr ? nullptr : port_.handle->kernel_interface();
  if (kernel != nullptr) {
    if (!kernel->promiscuous()) note("promiscuous mode does not stay on: frames will be missing");
    return;
  }
  const DpdkLogCapture quiet;
  const int promiscuous = rte_eth_promiscuous_enable(id_);
  static_cast<void>(rte_eth_allmulticast_enable(id_));
  const bool filters = promiscuous != -ENOTSUP;
  if (filters && rte_eth_promiscuous_get(id_) != 1) {
    note("promiscuous mode cannot be turned on: frames to other addresses will be missing");
  }
}

}  // namespace mqsteer
