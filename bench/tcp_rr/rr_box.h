#pragma once

#include "client.h"
#include "eal/eal.h"
#include "eal/mempool.h"
#include "handlers/rr.h"
#include "runtime/runtime.h"

#include <memory>
#include <string>
#include <vector>

namespace mqsteer::bench {

/// A running box of two lcores that answers TCP_RR on one ring port: one RX queue, polled by lcore
/// 0, where the client runs too; both lcores are workers.
class RrBox {
 public:
  struct Config {
    const Eal* eal = nullptr;
    std::uint32_t connections = 1024;  ///< that one worker can own
    std::uint32_t work_ns = 0;
    std::uint32_t window = 1024;
    std::uint32_t rfs_flows = 65536;
    bool order_check = false;
  };
  static Expected<std::unique_ptr<RrBox>> start(const Config& config);

  RrBox(const RrBox&) = delete;
  RrBox& operator=(const RrBox&) = delete;
  RrBox(RrBox&&) = delete;
  RrBox& operator=(RrBox&&) = delete;
  ~RrBox();

  [[nodiscard]] Runtime& runtime() noexcept { return *runtime_; }
  [[nodiscard]] Client& client() noexcept { return *client_; }
  [[nodiscard]] const RrShared& rr() const noexcept { return *rr_; }

  /// The client acknowledges with its next request only, and of a million flows each has its turn
  /// twice a second: an echo must not be taken for lost by then.
  static constexpr std::uint32_t kFirstTimeoutMs = 10'000;
  static constexpr IdlePolicy kIdle = IdlePolicy::kPoll;
  static constexpr bool kBalance = false;

 private:
  RrBox() = default;
  static constexpr std::uint32_t kRingSlots = 8192;
  static constexpr std::uint16_t kLcores = 2;

  std::unique_ptr<Mempool> pool_;
  rte_ring* in_ = nullptr;
  std::vector<rte_ring*> out_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<RteMemory> memory_;
  std::unique_ptr<RrShared> rr_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace mqsteer::bench
