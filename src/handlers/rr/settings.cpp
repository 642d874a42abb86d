#include "handlers/rr/settings.h"

#include "config/host_address.h"
#include "handlers/rr/connection_table.h"
#include "handlers/rr/counters.h"
#include "handlers/rr/echo_store.h"
#include "handlers/rr/owner_table.h"
#include "handlers/rr/timer_queue.h"

#include <string>

namespace mqsteer {
namespace {

template <class Address>
Expected<std::optional<Address>> read_address(const std::string& text, const char* key) {
  if (text.empty()) return std::nullopt;
  Address address{};
  if (const std::string flaw = read_host_address(text, address); !flaw.empty()) {
    return fail(std::string{key} + ": " + text + " " + flaw);
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
  auto ipv4 = read_address<Ipv4Address>(config.ipv4, "rr.ipv4");
  if (!ipv4) return tl::unexpected(ipv4.error());
  auto ipv6 = read_address<Ipv6Address>(config.ipv6, "rr.ipv6");
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
