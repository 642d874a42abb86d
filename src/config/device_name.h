#pragma once

#include <mqsteer/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mqsteer {

enum class DeviceKind : std::uint8_t {
  kPci,        ///< `0000:00:14.0`, or `00:14.0` in domain 0
  kInterface,  ///< a kernel interface, for example `eth1`
  kVdev,       ///< a DPDK virtual device with its arguments, `net_null0,size=64`
};

/// What a port's `device` names, by its form alone; whether it exists is not looked at.
[[nodiscard]] Expected<DeviceKind> parse_device(std::string_view device);

/// One spelling for one device: PCI addresses get their domain and lower case digits, the rest is
/// returned as it is.
[[nodiscard]] std::string canonical_device(std::string_view device);

/// Everything that a device claims for itself, in canonical form: itself (a vdev without its
/// arguments), and the kernel interface that a vdev names with `iface=`. Two ports may not claim
/// the same thing.
[[nodiscard]] std::vector<std::string> claims_of(std::string_view device);

}  // namespace mqsteer
