#pragma once

#include "handlers/rr/counters.h"
#include "handlers/rr/local_end.h"
#include "handlers/rr/tcp.h"

#include <rte_mbuf_core.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace mqsteer::rr {

/// What a frame is to us.
enum class FrameKind : std::uint8_t {
  kRefused,  ///< used up, and counted under Frame::reason
  kTcp,      ///< Frame::segment holds it; its checksums are right
  kArp,      ///< a request for our address
  kEcho4,    ///< an ICMP echo request, checksums right
  kEcho6,
  kNeighbour,  ///< a neighbour solicitation for our address
};

/// A frame as read once, within its bounds.
struct Frame {
  FrameKind kind = FrameKind::kRefused;
  RrCount reason = RrCount::kUnwanted;
  std::uint16_t bytes = 0;  ///< of the frame without padding, as far as its headers say
  Segment segment;
};

/// Reads a frame in one contiguous piece. Reads nothing outside it, and nothing twice: what is
/// returned is what was checked.
///
/// rx_flags: the mbuf's; a checksum is verified here unless the NIC said that it is good
Frame read_frame(std::span<const std::byte> frame, std::uint64_t rx_flags,
                 const LocalEnd& local) noexcept;

}  // namespace mqsteer::rr
