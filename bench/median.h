#pragma once

#include <algorithm>
#include <vector>

namespace mqsteer::bench {

/// The middle value, the upper of two; 0 where there are none.
[[nodiscard]] inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace mqsteer::bench
