#pragma once

#include "handlers/handler.h"

#include <mqsteer/packet_meta.h>

namespace mqsteer {

/// Uses every packet up: for boxes that only look, and for measuring what steering costs.
class Sink {
 public:
  static constexpr bool kReadsHeaders = false;

  void run(PacketBurst burst, Outbox& outbox, TscCycles /*now*/) noexcept {
    for (const PacketMeta& packet : burst.packets) outbox.consume(packet);
  }
  void tick(Outbox& /*outbox*/, TscCycles /*now*/) noexcept {}
};
static_assert(Handler<Sink>);

}  // namespace mqsteer
