#include "port/port.h"

#include "port/bringup.h"
#include "port/device.h"
#include "port/kernel_interface.h"
#include "port/xdp_sockets.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mqsteer {
namespace {

std::uint64_t since(std::uint64_t now, std::uint64_t start, std::uint64_t last) {
  // A driver that resets or wraps its counters must not make ours fall.
  return now < start ? last : std::max(now - start, last);
}

constexpr std::array kCounterFields{
    &PortCounters::rx_packets, &PortCounters::rx_bytes,  &PortCounters::rx_missed,
    &PortCounters::rx_nombuf,  &PortCounters::rx_errors, &PortCounters::tx_packets,
    &PortCounters::tx_bytes,   &PortCounters::tx_errors, &PortCounters::tx_taken_lost};

}  // namespace

Port::Port(PortCapabilities capabilities) noexcept : capabilities_{std::move(capabilities)} {}

Expected<Port> Port::start(PortCapabilities capabilities, const PortSetup& setup) {
  Port port{std::move(capabilities)};
  port.notes_ = port.capabilities_.notes;
  port.live_ = true;
  if (auto done = port.configure(setup); !done) return tl::unexpected(done.error());
  port.base_ = port.device_counters();
  port.started_ = true;
  return port;
}

Expected<void> Port::configure(const PortSetup& setup) {
  const bool xdp = capabilities_.driver == profile_of("net_af_xdp").driver;
  if (xdp) xdp_sockets_ = std::make_unique<XdpSockets>();
  Bringup bringup{capabilities_, setup, notes_};
  auto done = bringup.run();
  if (xdp) xdp_sockets_->find_new();
  rx_queues_ = bringup.rx_queues;
  tx_queues_ = bringup.tx_queues;
  mtu_ = bringup.mtu;
  checksums_ = bringup.checksums;
  return done;
}

PortCounters Port::device_counters() const noexcept {
  rte_eth_stats stats{};
  if (rte_eth_stats_get(id().value(), &stats) != 0) return {};
  PortCounters counters;
  counters.rx_packets = stats.ipackets;
  counters.rx_bytes = stats.ibytes;
  counters.rx_missed = stats.imissed;
  counters.rx_nombuf = stats.rx_nombuf;
  counters.rx_errors = stats.ierrors;
  counters.tx_packets = stats.opackets;
  counters.tx_bytes = stats.obytes;
  counters.tx_errors = stats.oerrors;
  counters.tx_taken_lost =
      capabilities_.profile->tx_errors == TxErrors::kTakenLost ? stats.oerrors : 0;
  if (xdp_sockets_ != nullptr) {
    const XdpLosses losses = xdp_sockets_->losses();
    counters.rx_missed += losses.rx_ring_full;
    counters.tx_taken_lost += losses.tx_invalid;
  }
  return counters;
}

Port::Port(Port&& other) noexcept
    : capabilities_{std::move(other.capabilities_)},
      notes_{std::move(other.notes_)},
      rx_queues_{other.rx_queues_},
      tx_queues_{other.tx_queues_},
      mtu_{other.mtu_},
      checksums_{other.checksums_},
      live_{std::exchange(other.live_, false)},
      started_{other.started_},
      xdp_sockets_{std::move(other.xdp_sockets_)},
      base_{other.base_},
      last_{other.last_} {}

Port& Port::operator=(Port&& other) noexcept {
  std::swap(capabilities_, other.capabilities_);
  std::swap(notes_, other.notes_);
  std::swap(rx_queues_, other.rx_queues_);
  std::swap(tx_queues_, other.tx_queues_);
  std::swap(mtu_, other.mtu_);
  std::swap(checksums_, other.checksums_);
  std::swap(live_, other.live_);
  std::swap(started_, other.started_);
  std::swap(xdp_sockets_, other.xdp_sockets_);
  std::swap(base_, other.base_);
  std::swap(last_, other.last_);
  return *this;
}

Port::~Port() {
  stop();
}

void Port::stop() noexcept {
  if (!live_) return;
  if (started_) {
    static_cast<void>(rte_eth_dev_stop(id().value()));
    static_cast<void>(counters());
  }
  live_ = false;
  if (xdp_sockets_ != nullptr) xdp_sockets_->release();
  if (capabilities_.handle != nullptr) {
    capabilities_.handle->unplug();
  } else {
    static_cast<void>(rte_eth_dev_close(id().value()));
  }
  if (xdp_sockets_ != nullptr) xdp_sockets_->close_forgotten();
}

bool Port::link_up() const noexcept {
  if (!live_) return false;
  if (capabilities_.handle != nullptr && capabilities_.handle->kernel_interface() != nullptr) {
    return capabilities_.handle->kernel_interface()->link_up();
  }
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id().value(), &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

std::uint32_t Port::link_mbps() const noexcept {
  const bool told = live_ && !capabilities_.profile->is_virtual;
  rte_eth_link link{};
  if (!told || rte_eth_link_get_nowait(id().value(), &link) != 0 ||
      link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN) {
    return capabilities_.link_mbps;
  }
  return link.link_speed == RTE_ETH_SPEED_NUM_NONE ? capabilities_.link_mbps : link.link_speed;
}

TxDeparture Port::tx_departure() const noexcept {
  const bool zero_copy = xdp_sockets_ != nullptr && xdp_sockets_->zero_copy();
  return zero_copy ? TxDeparture::kTime : capabilities_.profile->tx_departure;
}

PortCounters Port::counters() noexcept {
  if (!live_) return last_;
  const PortCounters now = device_counters();
  for (const auto field : kCounterFields) {
    last_.*field = since(now.*field, base_.*field, last_.*field);
  }
  return last_;
}

std::uint32_t Port::max_frame_bytes() const noexcept {
  return kHeaderBytes + kTwoTagsBytes + mtu_;
}

bool Port::single_segment_tx() const noexcept {
  return capabilities_.profile->single_segment_tx;
}

}  // namespace mqsteer
