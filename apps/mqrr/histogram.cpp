#include "mqrr/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace mqsteer::rr_kernel {

unsigned Histogram::shift_of(std::uint64_t ns) noexcept {
  const auto bits = static_cast<unsigned>(std::bit_width(ns));
  return bits > kStepBits + 1 ? bits - kStepBits - 1 : 0;
}

Histogram::Histogram() : buckets_(kBuckets) {}

void Histogram::add(std::uint64_t ns) noexcept {
  const unsigned shift = shift_of(ns);
  ++buckets_[(std::size_t{shift} << kStepBits) + (ns >> shift)];
  ++count_;
  max_ = std::max(max_, ns);
}

void Histogram::merge(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

std::uint64_t Histogram::quantile(double share) const noexcept {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets && count_ != 0; ++i) {
    seen += buckets_[i];
    if (seen < std::max<std::uint64_t>(wanted, 1)) continue;
    const std::size_t shift = i < (std::size_t{2} << kStepBits) ? 0 : (i >> kStepBits) - 1;
    const std::uint64_t least = (i - (shift << kStepBits)) << shift;
    return std::min(max_, least + (std::uint64_t{1} << shift) - 1);
  }
  return 0;
}

}  // namespace mqsteer::rr_kernel
