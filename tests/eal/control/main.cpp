#include "null_box.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>
#include <thread>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (std::thread::hardware_concurrency() < 2) {
    std::cout << "skipped: needs two CPUs\n";
    return 77;
  }
  auto eal = mqsteer::Eal::init({.file_prefix = "mqsteer-control-" + std::to_string(getpid()),
                                 .cpus = {0, 1},
                                 .hugepages = false,
                                 .memory_mb = 256});
  if (!eal) {
    std::cout << "skipped: " << eal.error().text() << "\n";
    return 77;
  }
  mqsteer::test::NullBox::eal = &*eal;
  return RUN_ALL_TESTS();
}
