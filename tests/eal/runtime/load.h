#pragma once

#include "support/numbered.h"
#include "support/ring_box.h"

#include <array>
#include <cstdint>

namespace mqsteer::test {

inline constexpr std::uint32_t kFlowsPerSide = 32;
/// Packets in the box: backlogs stand filled, and the hold FIFO takes all of them.
inline constexpr std::uint64_t kWindow = 1000;
/// Numbered packets of 32 flows a side, as many at once as the window allows.
class Load {
 public:
  enum class Into : std::uint8_t { kBoth, kLeft };

  explicit Load(RingBox& box, Into into = Into::kBoth, std::uint64_t window = kWindow)
      : box_{box},
        into_{into},
        window_{window},
        sources_{NumberedSource{box.pool(), kFlowsPerSide},
                 NumberedSource{box.pool(), kFlowsPerSide, kFlowsPerSide}} {}

  /// Tops the box up and looks at what came out.
  void turn() {
    for (int i = 0; i < 256 && sent_ - checker_.seen() - dropped_ < window_; ++i) {
      send(into_ == Into::kBoth ? i % 2 : 0);
    }
    take();
  }
  void take() {
    const auto see = [&](const rte_mbuf& mbuf) { checker_.see(number_of(mbuf)); };
    while (RingBox::take(box_.left, see) + RingBox::take(box_.right, see) != 0) {
    }
  }
  /// Packets that will not come out any more make room in the window.
  void forget_losses(std::uint64_t dropped) { dropped_ = dropped; }
  [[nodiscard]] std::uint64_t losses() const { return dropped_; }
  [[nodiscard]] const OrderChecker& checker() const { return checker_; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

 private:
  void send(int side) {
    rte_mbuf* mbuf = sources_[side].next();
    if (mbuf == nullptr) return;
    if (RingBox::put(side == 0 ? box_.left : box_.right, mbuf)) {
      ++sent_;
    } else {
      sources_[side].unsend(mbuf);
    }
  }

  RingBox& box_;
  Into into_;
  std::uint64_t window_;
  std::array<NumberedSource, 2> sources_;
  OrderChecker checker_{2 * kFlowsPerSide};
  std::uint64_t sent_ = 0;
  std::uint64_t dropped_ = 0;
};

struct Moves {
  std::uint64_t moves = 0;
  std::uint64_t held = 0;
};
inline Moves moves_of(Runtime& runtime) {
  Moves sum;
  for (const WorkerFigures& worker : runtime.snapshot().workers) {
    sum.moves += worker.moves;
    sum.held += worker.moves_held;
  }
  return sum;
}

}  // namespace mqsteer::test
