#include "handlers/rr/settings.h"

#include "handlers/rr/connection_table.h"
#include "handlers/rr/counters.h"
#include "handlers/rr/echo_store.h"
#include "handlers/rr/owner_table.h"
#include "handlers/rr/timer_queue.h"

#include <arpa/inet.h>

#include <algorithm>

namespace mqsteer {
namespace {

/// The addresses that a host can have: no group, not unspecified, no loopback.
bool can_be_ours(const Ipv4Address& address) noexcept {
  return address[0] != 0 && address[0] != 127 && address[0] < 224;
}
bool can_be_ours(const Ipv6Address& address) noexcept {
  const bool high_zero =
      std::all_of(address.begin(), address.end() - 1, [](auto b) { return b == 0; });
  return address[0] != 0xff && !(high_zero && address[15] <= 1);
}

template <class Address>
Expected<std::optional<Address>> read_address(const std::string& text, const char* key,
                                              int family) {
  if (text.empty()) return std::nullopt;
  Address address{};
  if (inet_pton(family, text.c_str(), address.data()) != 1) {
    return fail(std::string{key} + ": " + text + " is no address of this kind");
  }
  if (!can_be_ours(address)) {
    return fail(std::string{key} + ": " + text + " cannot be the address of a host");
  }
  return address;
}

Expected<void> check(const RrSettings& settings) {
  if (!settings.ipv4 && !settings.ipv6) return fail("rr: give it an address, rr.ipv4 or rr.ipv6");
  if (settings.tcp_port == 0) return fail("rr.tcp_port: 0 is no port; give 1 to 65535");
  if (settings.connections == 0 || settings.connections > RrSettings::kMaxConnections) {
    return fail("rr.connections: give 1 to " + std::to_string(RrSettings::kMaxConnections));
  }
  if (settings.work_ns > RrSettings::kMaxWorkNs) {
    return fail("rr.work_ns: give at most " + std::to_string(RrSettings::kMaxWorkNs));
  }
  if (settings.mtu < RrSettings::kMinMtu || settings.mtu > RrSettings::kMaxMtu) {
    return fail("rr: its port's MTU is " + std::to_string(settings.mtu) + ", it needs " +
                std::to_string(RrSettings::kMinMtu) + " to " + std::to_string(RrSettings::kMaxMtu));
  }
  return {};
}

}  // namespace

Expected<RrSettings> rr_settings(const RrConfig& config, PortId port, const MacAddress& mac,
                                 std::uint16_t mtu) {
  auto ipv4 = read_address<Ipv4Address>(config.ipv4, "rr.ipv4", AF_INET);
  if (!ipv4) return tl::unexpected(ipv4.error());
  auto ipv6 = read_address<Ipv6Address>(config.ipv6, "rr.ipv6", AF_INET6);
  if (!ipv6) return tl::unexpected(ipv6.error());
  const RrSettings settings{.port = port,
                            .mac = mac,
                            .ipv4 = *ipv4,
                            .ipv6 = *ipv6,
                            .tcp_port = config.tcp_port,
                            .mtu = mtu,
                            .connections = config.connections,
                            .work_ns = config.work_ns};
  if (auto checked = check(settings); !checked) return tl::unexpected(checked.error());
  return settings;
}

std::size_t rr_memory_bytes(const RrSettings& settings, std::uint16_t workers) noexcept {
  const std::size_t worker = rr::ConnectionTable::bytes(settings.connections) +
                             rr::TimerQueue::bytes(settings.connections) +
                             rr::EchoStore::bytes(settings.buffers(), settings.buffer_bytes()) +
                             sizeof(RrCounters);
  return workers * worker + rr::OwnerTable::bytes(std::uint64_t{settings.connections} * workers);
}

}  // namespace mqsteer
