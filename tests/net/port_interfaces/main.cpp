#include "eal/eal.h"
#include "network.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iostream>
#include <string_view>

namespace {

constexpr int kSkipped = 77;

/// What is missing to run these tests; empty: nothing.
std::string missing() {
  if (geteuid() != 0) return "needs root, for network namespaces";
  const mqsteer::Descriptor xdp{socket(AF_XDP, SOCK_RAW, 0)};
  if (!xdp.valid()) return "needs a kernel with AF_XDP sockets";
  if (system("ip netns list >/dev/null 2>&1 && command -v ethtool >/dev/null") != 0) {
    return "needs iproute2 and ethtool";
  }
  return {};
}

mqsteer::Expected<mqsteer::Eal> start_eal() {
  mqsteer::EalConfig config{.file_prefix = "mqsteer-net-test-" + std::to_string(getpid())};
  config.hugepages = false;
  config.memory_mb = 256;
  config.telemetry = false;
  return mqsteer::Eal::init(config);
}

/// The other process of HoldingProcess: one letter when it is ready, then nothing but to be killed.
int hold(const char* interface) {
  alarm(60);
  const auto eal = start_eal();
  if (!eal) return 2;
  mqsteer::PortConfig config{.name = "held", .device = interface};
  config.offloads = mqsteer::OffloadPolicy::kFix;
  const auto port = mqsteer::try_open(config);
  if (!port) {
    std::cerr << port.error().text() << '\n';
    return 2;
  }
  if (write(STDOUT_FILENO, "r", 1) != 1) return 2;
  for (;;) pause();
}

}  // namespace

/// net_af_xdp never frees what libxdp keeps of a umem.
extern "C" const char* __lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() {
  return "leak:xsk_umem__create";
}

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view{argv[1]} == "--hold") return hold(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  if (const std::string what = missing(); !what.empty()) {
    std::cout << "skipped: " << what << '\n';
    return kSkipped;
  }
  if (unshare(CLONE_NEWNET) != 0) {
    std::cout << "skipped: may not make a network namespace\n";
    return kSkipped;
  }
  const auto eal = start_eal();
  if (!eal) {
    std::cout << "skipped: " << eal.error().text() << '\n';
    return kSkipped;
  }
  return RUN_ALL_TESTS();
}
