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

/// Consumers that move all the time: a worker forwards what it gets, and now and then claims
/// another flow, whoever has it, as a process that runs on its lcore from now on would.
class ClaimingForward {
 public:
  static constexpr bool kReadsHeaders = false;
  static constexpr bool kReadsFlow = true;
  static constexpr bool kHandsOver = false;
  static constexpr std::size_t kMostFlows = 256;

  /// What all workers know: the hash of each flow, once seen.
  struct Flows {
    std::array<std::atomic<std::uint64_t>, kMostFlows> hashes{};  ///< with bit 32 set: known
    std::atomic<std::uint64_t> claims{0};
  };

  ClaimingForward(std::vector<PortId> peers, std::uint16_t worker, HandlerControls* controls,
                  Flows* flows)
      : forward_{std::move(peers), worker, controls}, flows_{flows}, random_{worker + 1U} {}

  void run(PacketBurst burst, Outbox& outbox, TscCycles now) noexcept {
    for (const PacketMeta& packet : burst.packets) {
      auto& hash = flows_->hashes[number_of(*packet.mbuf).flow % kMostFlows];
      hash.store((std::uint64_t{1} << 32U) | packet.hash, std::memory_order_relaxed);
    }
    for (int i = 0; i < 4; ++i) claim_one(outbox);
    forward_.run(burst, outbox, now);
  }
  void tick(Outbox&, TscCycles) noexcept {}

 private:
  void claim_one(Outbox& outbox) noexcept {
    random_ = random_ * 1664525U + 1013904223U;  // Numerical Recipes' generator
    const std::uint64_t claimed =
        flows_->hashes[(random_ >> 8U) % kMostFlows].load(std::memory_order_relaxed);
    if (claimed == 0) return;
    outbox.record_flow(static_cast<std::uint32_t>(claimed));
    flows_->claims.fetch_add(1, std::memory_order_relaxed);
  }

  WorkingForward forward_;
  Flows* flows_;
  std::uint32_t random_;
};

/// Each flow is consumed, and forwarded, at the worker of its number; others hand it over.
class HandingForward {
 public:
  static constexpr bool kReadsHeaders = false;
  static constexpr bool kReadsFlow = true;
  static constexpr bool kHandsOver = true;

  HandingForward(std::vector<PortId> peers, std::uint16_t worker, HandlerControls* controls)
      : forward_{std::move(peers), worker, controls}, worker_{worker} {}

  void run(PacketBurst burst, Outbox& outbox, TscCycles now) noexcept {
    for (const PacketMeta& packet : burst.packets) {
      const auto consumer = static_cast<std::uint16_t>(number_of(*packet.mbuf).flow % 2);
      if (consumer == worker_) {
        consume(packet, outbox, now);
      } else {
        outbox.hand_over(WorkerId{consumer}, packet);
      }
    }
  }
  void run_handed_over(PacketBurst burst, Outbox& outbox, TscCycles now) noexcept {
    for (const PacketMeta& packet : burst.packets) consume(packet, outbox, now);
  }
  void tick(Outbox&, TscCycles) noexcept {}

 private:
  void consume(const PacketMeta& packet, Outbox& outbox, TscCycles now) noexcept {
    outbox.record_flow(packet.hash);
    forward_.run({{&packet, 1}}, outbox, now);
  }

  WorkingForward forward_;
  std::uint16_t worker_;
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

template <DrainRule rule = DrainRule::kOn>
auto claiming_loops(HandlerControls& controls, ClaimingForward::Flows& flows) {
  return [&](const Config& config, const std::vector<PortCapabilities>& ports) {
    const auto peers = peers_of(config, ports);
    return [&, peers](LcoreParts<RxQueue> parts, std::pmr::memory_resource& memory) {
      ClaimingForward handler{peers, parts.worker, &controls, &flows};
      return std::make_unique<LcoreLoop<ClaimingForward, RxQueue, rule>>(std::move(parts), handler,
                                                                         memory);
    };
  };
}

inline auto handing_loops(HandlerControls& controls) {
  return [&controls](const Config& config, const std::vector<PortCapabilities>& ports) {
    const auto peers = peers_of(config, ports);
    return [peers, &controls](LcoreParts<RxQueue> parts, std::pmr::memory_resource& memory) {
      HandingForward handler{peers, parts.worker, &controls};
      return std::make_unique<LcoreLoop<HandingForward>>(std::move(parts), handler, memory);
    };
  };
}

}  // namespace mqsteer::test
