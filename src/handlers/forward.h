#pragma once

#include "handlers/handler.h"

#include <mqsteer/id.h>
#include <mqsteer/packet_meta.h>

#include <vector>

namespace mqsteer {

/// A transparent wire: what comes in on a port goes out on its peer, but for pause frames.
///
/// IEEE 802.1Q 8.6.3: a pause frame is for the port at the other end of the link and is never
/// relayed. All other reserved addresses pass: a wire has no part in their protocols.
class Forward {
 public:
  static constexpr bool kReadsHeaders = false;

  /// The peer of a port that is in no bridge: what it receives is used up.
  static constexpr PortId kNoPeer{0xffff};

  /// peers: by PortId of the receiving port
  explicit Forward(std::vector<PortId> peers) : peers_{std::move(peers)} {}

  void run(PacketBurst burst, Outbox& outbox, TscCycles /*now*/) noexcept {
    for (const PacketMeta& packet : burst.packets) {
      if (__builtin_expect((packet.flags & kPauseFrame) != 0, 0)) {
        outbox.count_pause_frame();
        outbox.consume(packet);
      } else if (const PortId peer = peers_[packet.port]; peer != kNoPeer) {
        outbox.transmit(peer, packet);
      } else {
        outbox.consume(packet);
      }
    }
  }
  void tick(Outbox& /*outbox*/, TscCycles /*now*/) noexcept {}

 private:
  std::vector<PortId> peers_;
};
static_assert(Handler<Forward>);

}  // namespace mqsteer
