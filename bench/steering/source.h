#pragma once

#include "eal/mempool.h"
#include "port/port.h"

#include <mqsteer/error.h>

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mqsteer::bench {

/// 64-byte TCP packets without end: a net_pcap port with infinite_rx=1 over a file of one packet a
/// flow. All contenders receive from it, one after the other, so it keeps count of where it is.
class Source {
 public:
  static constexpr std::size_t kFrameBytes = 64;
  using Frame = std::array<std::uint8_t, kFrameBytes>;

  /// flows: packets in the file
  static Expected<std::unique_ptr<Source>> open(std::uint32_t flows);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  Source(Source&&) = delete;
  Source& operator=(Source&&) = delete;
  ~Source();

  [[nodiscard]] RxQueue queue() const { return port_->rx_queue(QueueId{0}); }
  [[nodiscard]] PortId port() const { return port_->id(); }
  [[nodiscard]] Mempool& pool() { return *pool_; }
  [[nodiscard]] std::span<const Frame> frames() const { return frames_; }

  /// What the folds of the next `packets` packets add up to, and moves on past them.
  ///
  /// rewritten_flows: of the Rewrite that was used, 0 for none
  [[nodiscard]] std::uint64_t expect(std::uint64_t packets, std::uint32_t rewritten_flows);

 private:
  Source() = default;
  std::string path_;
  std::vector<Frame> frames_;
  std::unique_ptr<Mempool> pool_;
  std::unique_ptr<Port> port_;
  std::uint64_t position_ = 0;
};

/// Gives packet number n the addresses and ports of flow n mod flows.
inline void rewrite(std::uint8_t* frame, std::uint32_t flow) noexcept {
  const std::uint32_t address = rte_cpu_to_be_32(0x0a000000U + flow);
  const auto port = static_cast<std::uint16_t>(1024U + flow % 50'000U);
  const std::uint16_t wire_port = rte_cpu_to_be_16(port);
  std::memcpy(frame + 26, &address, sizeof address);
  std::memcpy(frame + 34, &wire_port, sizeof wire_port);
}

/// How a contender receives: counted, and rewritten to more flows than the file has where asked
/// for.
struct Intake {
  RxQueue queue;
  std::uint32_t flows = 0;  ///< 0: as in the file
  std::uint64_t received = 0;
  std::uint32_t next_flow = 0;

  std::size_t receive(std::span<rte_mbuf*> mbufs) noexcept {
    const std::size_t count = queue.receive(mbufs);
    received += count;
    if (flows == 0) return count;
    for (std::size_t i = 0; i < count; ++i) {
      rewrite(rte_pktmbuf_mtod(mbufs[i], std::uint8_t*), next_flow);
      if (++next_flow == flows) next_flow = 0;
    }
    return count;
  }
};

}  // namespace mqsteer::bench
