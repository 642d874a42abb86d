#pragma once

#include "handlers/handler.h"

#include <mqsteer/id.h>
#include <mqsteer/packet_meta.h>

#include <span>
#include <vector>

namespace mqsteer {

/// A transparent wire: what comes in on a port goes out on its peer, but for pause frames.
///
/// IEEE 802.1Q 8.6.3: a pause frame is for the port at the other end of the link and is never
/// relayed. All other reserved addresses pass: a wire has no part in their protocols.
class Forward {
 public:
  static constexpr bool kReadsHeaders = false;
  static constexpr bool kReadsFlow = false;
  static constexpr bool kHandsOver = false;

  /// The peer of a port that is in no bridge: what it receives is used up.
  static constexpr PortId kNoPeer{0xffff};

  /// peers: by PortId of the receiving port
  explicit Forward(std::vector<PortId> peers) : peers_{std::move(peers)} {}

  void run(PacketBurst burst, Outbox& outbox, TscCycles /*now*/) noexcept {
    // A burst is of one RX lcore and mostly of one port: whole runs go out at once.
    for (auto rest = burst.packets; !rest.empty();) {
      const std::size_t count = run_length(rest);
      relay(rest.first(count), outbox);
      rest = rest.subspan(count);
    }
  }
  void tick(Outbox& /*outbox*/, TscCycles /*now*/) noexcept {}

 private:
  /// How many packets from the first one on are of its port, and pause frames or not, as it is.
  [[nodiscard]] static std::size_t run_length(std::span<const PacketMeta> packets) noexcept {
    const PacketMeta& first = packets.front();
    std::size_t count = 1;
    while (count < packets.size() && packets[count].port == first.port &&
           ((packets[count].flags ^ first.flags) & kPauseFrame) == 0) {
      ++count;
    }
    return count;
  }

  void relay(std::span<const PacketMeta> packets, Outbox& outbox) const noexcept {
    const PortId peer = peers_[packets.front().port];
    const bool pause = (packets.front().flags & kPauseFrame) != 0;
    if (pause) outbox.count_pause_frames(packets.size());
    if (pause || peer == kNoPeer) {
      outbox.consume(packets);
    } else {
      outbox.transmit(peer, packets);
    }
  }

  std::vector<PortId> peers_;
};
static_assert(Handler<Forward>);

}  // namespace mqsteer
