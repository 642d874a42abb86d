#include "port/xdp_sockets.h"

#include <fcntl.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

namespace mqsteer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kKernelFreesWithin{200};
Clock::time_point queues_free_at;  // control thread only

bool is_xdp_socket(int fd) {
  int domain = 0;
  socklen_t bytes = sizeof domain;
  return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_XDP;
}

ino_t inode_of(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

/// The rings of a umem are mapped from its socket and would keep it alive.
void unmap_rings_of(ino_t inode) {
  const std::string file = "socket:[" + std::to_string(inode) + "]";
  std::vector<std::pair<void*, std::size_t>> ranges;
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);) {
    void* from = nullptr;
    void* to = nullptr;
    if (!line.ends_with(file) || sscanf(line.c_str(), "%p-%p", &from, &to) != 2) continue;
    ranges.emplace_back(from, static_cast<char*>(to) - static_cast<char*>(from));
  }
  for (const auto& [from, bytes] : ranges) munmap(from, bytes);
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

XdpSockets::XdpSockets() : before_{xdp_sockets_of_this_process()} {
  std::this_thread::sleep_until(queues_free_at);
}

void XdpSockets::find_new() {
  for (const int fd : xdp_sockets_of_this_process()) {
    if (std::ranges::find(before_, fd) != before_.end()) continue;
    Descriptor own{fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    if (own.valid()) sockets_.push_back(std::move(own));
    theirs_.push_back({fd, inode_of(fd)});
  }
}

void XdpSockets::close_forgotten() noexcept {
  for (const Theirs& socket : theirs_) {
    if (!is_xdp_socket(socket.fd) || inode_of(socket.fd) != socket.inode) continue;
    unmap_rings_of(socket.inode);
    close(socket.fd);
    queues_free_at = Clock::now() + kKernelFreesWithin;
  }
  theirs_.clear();
}

bool XdpSockets::zero_copy() const noexcept {
  return std::ranges::any_of(sockets_, [](const Descriptor& socket) {
    xdp_options told{};
    socklen_t bytes = sizeof told;
    return getsockopt(socket.get(), SOL_XDP, XDP_OPTIONS, &told, &bytes) == 0 &&
           (told.flags & XDP_OPTIONS_ZEROCOPY) != 0;
  });
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
