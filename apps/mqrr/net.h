#pragma once

#include <mqsteer/descriptor.h>
#include <mqsteer/error.h>

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

namespace mqsteer::rr_kernel {

/// An address and port of either family.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t bytes = 0;
  [[nodiscard]] int family() const noexcept { return address.ss_family; }
  [[nodiscard]] const sockaddr* raw() const noexcept {
    return reinterpret_cast<const sockaddr*>(&address);
  }
  [[nodiscard]] std::string text() const;  ///< `10.0.0.1:7`, `[fd00::1]:7`
};

/// errors: the text is no IPv4 or IPv6 address; names are not looked up
[[nodiscard]] Expected<Endpoint> parse_endpoint(const std::string& address, std::uint16_t port);

/// A TCP socket that does not block and sends at once.
[[nodiscard]] Expected<Descriptor> tcp_socket(int family);

/// Lets a plain recv() wait, this long at most (0: for ever); MSG_DONTWAIT still does not.
void let_wait(int socket, std::uint32_t most_ms) noexcept;

/// Sees to it that the process may have so many descriptors: raises the soft limit up to the hard
/// one. errors: the hard limit is lower
[[nodiscard]] Expected<void> allow_descriptors(std::uint64_t count);

/// Raises the soft limit to the hard one; what a server does that does not know its clients.
void allow_most_descriptors() noexcept;

[[nodiscard]] std::uint64_t now_ns() noexcept;  ///< CLOCK_MONOTONIC

}  // namespace mqsteer::rr_kernel
