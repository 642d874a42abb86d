#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mqsteer::rr {

/// Stated work per packet: CRC32C over a buffer, as much of it as takes the time asked for.
///
/// CRC32C by SSE4.2's instruction, each step waiting for the one before it, so that its time
/// depends on the CPU's clock and on nothing else. What it really takes is timed by the user of
/// run(). One per worker; thread: the worker's lcore
class ExtraWork {
 public:
  /// Finds out how many steps last so long on this CPU; takes a millisecond. ns: 0: no work
  ExtraWork(std::uint32_t ns, std::uint64_t tsc_hz) noexcept;
  /// As another one was calibrated.
  explicit ExtraWork(std::uint32_t steps) noexcept;

  [[nodiscard]] bool is_wanted() const noexcept { return steps_ != 0; }
  [[nodiscard]] std::uint32_t steps() const noexcept { return steps_; }
  void run() noexcept { crc_ = crc_of(crc_, steps_); }
  /// Of all work so far; changes with every run().
  [[nodiscard]] std::uint32_t result() const noexcept { return static_cast<std::uint32_t>(crc_); }

 private:
  static constexpr std::size_t kWords = 512;  ///< 4 KiB: stays in the L1 cache beside other things
  [[nodiscard]] std::uint64_t crc_of(std::uint64_t crc, std::uint32_t steps) const noexcept;

  std::array<std::uint64_t, kWords> words_;
  std::uint64_t crc_ = 0;
  std::uint32_t steps_ = 0;
};

}  // namespace mqsteer::rr
