#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mqsteer::rr_kernel {

/// Counts of times in nanoseconds, in log-linear buckets: exact below 256 ns, above that each
/// bucket is 1/128 of its value wide. So a quantile is at most 0.8 % too high, and never too low.
///
/// One per thread; merged when they are done.
class Histogram {
 public:
  Histogram();

  void add(std::uint64_t ns) noexcept;
  void merge(const Histogram& other) noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; }  ///< exact
  /// The least time that `share` of the counts do not exceed, share within 0..1; 0 where there are
  /// none.
  [[nodiscard]] std::uint64_t quantile(double share) const noexcept;

 private:
  static constexpr unsigned kStepBits = 7;
  static constexpr std::size_t kBuckets = (64 - kStepBits + 1) << kStepBits;

  /// How far a time is shifted so that 7 bits and the leading one remain.
  static unsigned shift_of(std::uint64_t ns) noexcept;

  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace mqsteer::rr_kernel
