#pragma once

#include "handlers/rr/frame.h"
#include "handlers/rr/local_end.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace mqsteer::rr {

/// The most bytes that an answer made by answer_in_place() can be longer than its question: a
/// solicitation without options is answered with one of 8 bytes.
inline constexpr std::size_t kAnswerGrowth = 8;

/// Makes of an ARP request, an echo request or a neighbour solicitation the answer to it.
///
/// frame: as read_frame() found it, not of kind kRefused or kTcp
/// bytes: the frame, and behind it kAnswerGrowth more bytes that may be written
/// returns: bytes of the answer
std::size_t answer_in_place(const Frame& frame, std::byte* bytes, const LocalEnd& local) noexcept;

}  // namespace mqsteer::rr
