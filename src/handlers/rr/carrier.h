#pragma once

#include <mqsteer/packet_meta.h>

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>

namespace mqsteer::rr {

/// The received packet on its way out: it carries at most one answer back, and is used up where
/// there is none, or where the answer does not fit into it.
class Carrier {
 public:
  /// packet: outlives the carrier
  explicit Carrier(const PacketMeta& packet) noexcept : packet_{&packet} {}
  /// For what no packet gives rise to: answers need a fresh mbuf.
  Carrier() = default;

  [[nodiscard]] bool is_free() const noexcept { return packet_ != nullptr; }
  [[nodiscard]] const PacketMeta& packet() const noexcept { return *packet_; }

  /// Whether an answer of so many bytes may be written over the packet: its buffer is nobody
  /// else's, in one piece, and long enough.
  [[nodiscard]] bool holds(std::size_t bytes) const noexcept {
    if (packet_ == nullptr) return false;
    const rte_mbuf& mbuf = *packet_->mbuf;
    return RTE_MBUF_DIRECT(&mbuf) && mbuf.nb_segs == 1 && rte_mbuf_refcnt_read(&mbuf) == 1 &&
           bytes <= std::size_t{mbuf.buf_len} - mbuf.data_off;
  }
  /// The answer is in it now. returns: what is to be transmitted
  [[nodiscard]] PacketMeta take() noexcept {
    PacketMeta answer = *packet_;
    answer.length = packet_->mbuf->data_len;
    packet_ = nullptr;
    return answer;
  }

  /// The last `bytes` bytes of the echo stand in the packet as they came, `at` bytes from its
  /// start.
  void keep_text(std::uint32_t at, std::uint32_t bytes) noexcept {
    text_at_ = at;
    text_bytes_ = bytes;
  }
  /// Whether the packet's text is these last bytes of the echo, just where they have to be.
  [[nodiscard]] bool has_text(std::size_t at, std::size_t bytes) const noexcept {
    return text_bytes_ == bytes && text_at_ == at;
  }

 private:
  const PacketMeta* packet_ = nullptr;
  std::uint32_t text_at_ = 0;
  std::uint32_t text_bytes_ = 0;
};

}  // namespace mqsteer::rr
