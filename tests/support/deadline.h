#pragma once

#include <chrono>
#include <thread>

namespace mqsteer::test {

/// Polls a condition until it holds or the time is up. returns: whether it holds
template <class Condition>
[[nodiscard]] bool eventually(std::chrono::milliseconds limit, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return condition();
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
  return true;
}

}  // namespace mqsteer::test
