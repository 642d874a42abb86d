#pragma once

#include "eal/eal.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <thread>

namespace mqsteer::test {

/// EAL for a test program: once a process, on CPUs 0 and 1, with ordinary pages.
inline std::optional<Eal>& eal_once() {
  static std::optional<Eal> eal;
  return eal;
}

/// The main of an eal test. Exits with 77 (skipped) where EAL cannot start.
inline int run_eal_tests(int argc, char** argv, std::size_t memory_mb = 1024) {
  ::testing::InitGoogleTest(&argc, argv);
  if (std::thread::hardware_concurrency() < 2) {
    std::cout << "skipped: needs two CPUs\n";
    return 77;
  }
  auto eal = Eal::init({.file_prefix = "mqsteer-test-" + std::to_string(getpid()),
                        .cpus = {0, 1},
                        .hugepages = false,
                        .memory_mb = memory_mb,
                        .telemetry = false});
  if (!eal) {
    std::cout << "skipped: " << eal.error().text() << "\n";
    return 77;
  }
  eal_once().emplace(std::move(*eal));
  const int result = RUN_ALL_TESTS();
  eal_once().reset();
  return result;
}

}  // namespace mqsteer::test
