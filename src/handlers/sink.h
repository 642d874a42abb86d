#pragma once

#include "handlers/handler.h"

#include <mqsteer/packet_meta.h>

namespace mqsteer {

/// Uses every packet up: for boxes that only look, and for measuring what steering costs.
class Sink {
 public:
  static constexpr bool kReadsHeaders = false;
  static constexpr bool kReadsFlow = false;
  static constexpr bool kHandsOver = false;

  void run(PacketBurst burst, Outbox& outbox, TscCycles /*now*/) noexcept {
    outbox.consume(burst.packets);
  }
  void tick(Outbox& /*outbox*/, TscCycles /*now*/) noexcept {}
};
static_assert(Handler<Sink>);

}  // namespace mqsteer
