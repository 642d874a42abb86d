#include "mqrr/net.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace mqsteer::rr_kernel {

std::string Endpoint::text() const {
  std::array<char, INET6_ADDRSTRLEN> name{};
  if (family() == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    ::inet_ntop(AF_INET, &in.sin_addr, name.data(), name.size());
    return std::string{name.data()} + ":" + std::to_string(ntohs(in.sin_port));
  }
  sockaddr_in6 in{};
  std::memcpy(&in, &address, sizeof in);
  ::inet_ntop(AF_INET6, &in.sin6_addr, name.data(), name.size());
  return "[" + std::string{name.data()} + "]:" + std::to_string(ntohs(in.sin6_port));
}

Expected<Endpoint> parse_endpoint(const std::string& address, std::uint16_t port) {
  Endpoint endpoint;
  sockaddr_in in4{};
  sockaddr_in6 in6{};
  if (::inet_pton(AF_INET, address.c_str(), &in4.sin_addr) == 1) {
    in4.sin_family = AF_INET;
    in4.sin_port = htons(port);
    std::memcpy(&endpoint.address, &in4, sizeof in4);
    endpoint.bytes = sizeof in4;
    return endpoint;
  }
  if (::inet_pton(AF_INET6, address.c_str(), &in6.sin6_addr) == 1) {
    if (IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr)) {
      return fail("'" + address + "' is link-local; allowed: an address that needs no interface");
    }
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(port);
    std::memcpy(&endpoint.address, &in6, sizeof in6);
    endpoint.bytes = sizeof in6;
    return endpoint;
  }
  return fail("'" + address.substr(0, 64) +
              "' is not an address; allowed: an IPv4 or IPv6 address");
}

Expected<Descriptor> tcp_socket(int family) {
  Descriptor made{::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP)};
  if (!made.valid()) return fail(errno, "opening a TCP socket");
  const int on = 1;
  ::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

void let_wait(int socket, std::uint32_t most_ms) noexcept {
  const timeval most{.tv_sec = most_ms / 1000, .tv_usec = (most_ms % 1000) * 1000L};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  int off = 0;
  ::ioctl(socket, FIONBIO, &off);
}

Expected<void> allow_descriptors(std::uint64_t count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= count) return {};
  if (limit.rlim_max < count) {
    return fail("file descriptors: " + std::to_string(count) + " are needed and " +
                std::to_string(limit.rlim_max) + " allowed; raise the limit with ulimit -Hn " +
                std::to_string(count) + ", or use fewer connections");
  }
  limit.rlim_cur = count;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  return fail(errno, "file descriptors: raising the limit to " + std::to_string(count));
}

void allow_most_descriptors() noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::uint64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace mqsteer::rr_kernel
