#pragma once

#include "packet/flow_key.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mqsteer {

using ToeplitzKey = std::array<std::uint8_t, 40>;

/// The key of Microsoft's RSS verification suite, the default of most drivers.
/// Source: Microsoft, "Verifying the RSS Hash Calculation"
inline constexpr ToeplitzKey kMicrosoftKey = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/// Repeats every 16 bits, so that a NIC hashes both directions of a flow alike. Both halves of such
/// a hash are equal: it has 16 bits of entropy.
/// Source: Woo, Park: "Scalable TCP Session Monitoring with Symmetric Receive-side Scaling", 2012
inline constexpr ToeplitzKey kSymmetricKey = {
    0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a,
    0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a,
    0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a, 0x6d, 0x5a};

/// Whether a NIC with this key hashes both directions of a flow alike: it repeats every 16 bits.
[[nodiscard]] bool is_symmetric(const ToeplitzKey& key) noexcept;

/// Toeplitz by its definition, bit by bit. What the tests hold all others against.
///
/// input: in network order; at most key.size() - 4 bytes
[[nodiscard]] std::uint32_t toeplitz_reference(std::span<const std::uint8_t> key,
                                               std::span<const std::uint8_t> input) noexcept;

/// Toeplitz over flow keys: addresses, then ports, id or SPI; never the protocol.
///
/// thread: any; constant after construction. About 36 KiB.
class Toeplitz {
 public:
  enum class Variant : std::uint8_t { kTables, kCarryless };

  explicit Toeplitz(const ToeplitzKey& key) noexcept;

  /// By one table a byte position: runs everywhere.
  [[nodiscard]] std::uint32_t by_tables(const FlowKey& key) const noexcept;

  /// hashes[i] = hash of packets[i].key; by what the variant of this CPU is.
  void run(std::span<const Dissection> packets, std::uint32_t* hashes) const noexcept {
    run_(*this, packets, hashes);
  }

  [[nodiscard]] Variant variant() const noexcept { return variant_; }
  /// For tests and benches. kCarryless: only where has_carryless().
  void set_variant(Variant variant) noexcept;
  /// Whether the CPU has PCLMULQDQ.
  [[nodiscard]] static bool has_carryless() noexcept;

 private:
  using Run = void (*)(const Toeplitz&, std::span<const Dissection>, std::uint32_t*) noexcept;
  static void run_tables(const Toeplitz& self, std::span<const Dissection> packets,
                         std::uint32_t* hashes) noexcept;
  static void run_carryless(const Toeplitz& self, std::span<const Dissection> packets,
                            std::uint32_t* hashes) noexcept;

  Run run_ = run_tables;
  Variant variant_ = Variant::kTables;
  alignas(16)
      std::array<std::uint64_t, FlowKey::kWords> windows_{};  ///< a word's 64 key bits, reversed
  std::array<std::array<std::uint32_t, 256>, FlowKey::kWords * 4> tables_{};
};

/// 64 x 64 -> 128 bit product, folded: every input bit reaches every output bit.
[[nodiscard]] constexpr std::uint64_t multiply_fold(std::uint64_t a, std::uint64_t b) noexcept {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product >> 64U) ^ static_cast<std::uint64_t>(product);
}

/// The hash of rps: addresses, ports (or id, SPI, EtherType) and protocol. Top and low bits are
/// equally good. Deterministic: one capture always gives one map; it is no defence against a sender
/// who picks tuples to collide, as no unkeyed hash is.
[[nodiscard]] inline std::uint32_t fast_hash(const FlowKey& key) noexcept {
  // The digits of pi after the point, as in Blowfish's tables: nothing up the sleeve.
  constexpr std::uint64_t kA = 0x243f6a8885a308d3U;
  constexpr std::uint64_t kB = 0x13198a2e03707344U;
  constexpr std::uint64_t kC = 0xa4093822299f31d0U;
  constexpr std::uint64_t kD = 0x082efa98ec4e6c89U;
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
  const auto pair = [&key](std::size_t at) {
    return static_cast<std::uint64_t>(key.words[at + 1]) << 32U | key.words[at];
  };
  const auto tail = [&key](std::size_t at) {
    return static_cast<std::uint64_t>(key.words[at]) << 32U | key.protocol;
  };
  std::uint64_t mixed = 0;
  if (key.family == AddressFamily::kIpv4) {
    mixed = multiply_fold(pair(0) ^ kA, tail(2) ^ kB);
  } else if (key.family == AddressFamily::kIpv6) {
    const std::uint64_t source = multiply_fold(pair(0) ^ kA, pair(2) ^ kB);
    const std::uint64_t destination = multiply_fold(pair(4) ^ kC, pair(6) ^ kD);
    mixed = multiply_fold(source ^ tail(8) ^ kB, destination ^ kC);
  } else {
    mixed = multiply_fold(multiply_fold(pair(0) ^ kA, pair(2) ^ kB) ^ kC, kD);
  }
  return static_cast<std::uint32_t>((mixed * kOdd) >> 32U);
}

}  // namespace mqsteer
