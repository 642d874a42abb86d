#include "port/xdp_sockets.h"

#include <fcntl.h>
#include <linux/if_xdp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>

namespace mqsteer {
namespace {

bool is_xdp_socket(int fd) {
  int domain = 0;
  socklen_t bytes = sizeof domain;
  return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_XDP;
}

std::vector<int> xdp_sockets_of_this_process() {
  std::vector<int> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd", ignored}) {
    const int fd = atoi(entry.path().filename().c_str());
    if (is_xdp_socket(fd)) found.push_back(fd);
  }
  return found;
}

}  // namespace

XdpSockets::XdpSockets() : before_{xdp_sockets_of_this_process()} {}

void XdpSockets::find_new() {
  for (const int fd : xdp_sockets_of_this_process()) {
    if (std::ranges::find(before_, fd) != before_.end()) continue;
    Descriptor own{fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    if (own.valid()) sockets_.push_back(std::move(own));
  }
}

XdpLosses XdpSockets::losses() const noexcept {
  XdpLosses losses;
  for (const Descriptor& socket : sockets_) {
    xdp_statistics told{};
    socklen_t bytes = sizeof told;
    if (getsockopt(socket.get(), SOL_XDP, XDP_STATISTICS, &told, &bytes) != 0) continue;
    losses.rx_ring_full += told.rx_ring_full;  // 0 from kernels before 5.9, which tell less
    losses.tx_invalid += told.tx_invalid_descs;
  }
  return losses;
}

}  // namespace mqsteer
