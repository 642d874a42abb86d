#pragma once

#include "handlers/forward.h"
#include "support/numbered.h"
#include "support/ring_box.h"

#include <atomic>
#include <vector>

namespace mqsteer::test {

/// What tests change in the handlers while they run.
struct HandlerControls {
  std::array<std::atomic<std::uint32_t>, 2> spin_cycles{};  ///< by worker: work per packet
  std::array<std::atomic<bool>, 2> stall{};                 ///< by worker: stuck inside run()
};

/// Forwards numbered packets after some work, and writes the worker's number into them.
class WorkingForward {
 public:
  static constexpr bool kReadsHeaders = false;
  static constexpr bool kReadsFlow = false;
  static constexpr bool kHandsOver = false;

  WorkingForward(std::vector<PortId> peers, std::uint16_t worker, HandlerControls* controls)
      : forward_{std::move(peers)}, worker_{worker}, controls_{controls} {}

  void run(PacketBurst burst, Outbox& outbox, TscCycles now) noexcept {
    while (controls_->stall[worker_].load(std::memory_order_relaxed)) rte_pause();
    for (const PacketMeta& packet : burst.packets) set_worker(*packet.mbuf, worker_);
    const std::uint64_t work =
        controls_->spin_cycles[worker_].load(std::memory_order_relaxed) * burst.packets.size();
    const std::uint64_t end = tsc_now().value() + work;
    while (tsc_now().value() < end) rte_pause();
    forward_.run(burst, outbox, now);
  }
  void tick(Outbox&, TscCycles) noexcept {}

 private:
  Forward forward_;
  std::uint16_t worker_;
  HandlerControls* controls_;
};

/// The factory for RingBox.
template <DrainRule rule = DrainRule::kOn>
auto working_loops(HandlerControls& controls) {
  return [&controls](const Config& config, const std::vector<PortCapabilities>& ports) {
    const auto peers = peers_of(config, ports);
    return [peers, &controls](LcoreParts<RxQueue> parts, std::pmr::memory_resource& memory) {
      WorkingForward handler{peers, parts.worker, &controls};
      return std::make_unique<LcoreLoop<WorkingForward, RxQueue, rule>>(std::move(parts), handler,
                                                                        memory);
    };
  };
}

}  // namespace mqsteer::test
