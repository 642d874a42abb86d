#pragma once

#include "eal/clock.h"
#include "handlers/outbox.h"

#include <mqsteer/packet_meta.h>

#include <concepts>

namespace mqsteer {

/// What a worker does with its packets; one object per worker, called on its lcore only.
///
///   kReadsHeaders  the burst carries each packet's first 64 bytes; read those, not the mbuf
///   kReadsFlow     run() looks at hash, kind, l3 or l4; where it does not and there is nobody to
///   steer
///                  to, packets are not dissected
///   kHandsOver     run() may hand packets over to other workers, which then get them by
///                  run_handed_over(), in order; both give every packet to the outbox
///   run()          gives every packet of the burst to the outbox and keeps none
///   tick()         called about once a millisecond, also when there is no traffic
template <class H>
concept Handler = requires(H handler, PacketBurst burst, Outbox& outbox, TscCycles now) {
  { H::kReadsHeaders } -> std::convertible_to<bool>;
  { H::kReadsFlow } -> std::convertible_to<bool>;
  { H::kHandsOver } -> std::convertible_to<bool>;
  { handler.run(burst, outbox, now) }
  noexcept;
  { handler.tick(outbox, now) }
  noexcept;
}
&&(!H::kHandsOver || requires(H handler, PacketBurst burst, Outbox& outbox, TscCycles now) {
  { handler.run_handed_over(burst, outbox, now) }
  noexcept;
});

}  // namespace mqsteer
