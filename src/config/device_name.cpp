#include "config/device_name.h"

#include "config/words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

namespace mqsteer {
namespace {

constexpr std::string_view kForms =
    "; allowed: a PCI address such as 0000:00:14.0, a kernel interface of at most 15 characters, "
    "or a DPDK vdev such as net_null0";
constexpr std::size_t kMaxInterface = 15;  // IFNAMSIZ less the final 0
constexpr std::size_t kMaxVdevName = 63;   // RTE_DEV_NAME_MAX_LEN less the final 0
constexpr std::size_t kMaxDevice = 1024;

bool is_pci(std::string_view text) {
  static const std::regex pattern{"([0-9a-fA-F]{1,8}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\\.[0-7]"};
  return text.size() < 32 && std::regex_match(text.begin(), text.end(), pattern);
}

bool is_vdev(std::string_view text) {
  return text.substr(0, 4) == "net_";
}

/// The kernel's dev_valid_name(), and no comma, which separates interfaces in --bridge.
bool is_interface(std::string_view text) {
  if (text.empty() || text.size() > kMaxInterface || text == "." || text == "..") return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isgraph(static_cast<unsigned char>(c)) != 0 && c != '/' && c != ':' && c != ',';
  });
}

bool is_vdev_name(std::string_view text) {
  return text.size() > 4 && text.size() <= kMaxVdevName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
         });
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isprint(static_cast<unsigned char>(c)) != 0; });
}

}  // namespace

Expected<DeviceKind> parse_device(std::string_view device) {
  if (is_pci(device)) return DeviceKind::kPci;
  if (is_vdev(device)) {
    const bool good = device.size() <= kMaxDevice && is_printable(device) &&
                      is_vdev_name(device.substr(0, device.find(',')));
    if (good) return DeviceKind::kVdev;
    return fail(in_quotes(device) + " is not a DPDK vdev" + std::string{kForms});
  }
  if (is_interface(device)) return DeviceKind::kInterface;
  return fail(in_quotes(device) + " is not a device" + std::string{kForms});
}

std::string canonical_device(std::string_view device) {
  std::string text{device};
  if (!is_pci(device)) return text;
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  constexpr std::size_t kBusToFunction = 7;  // bb:dd.f
  if (text.size() == kBusToFunction) return "0000:" + text;
  std::string domain = text.substr(0, text.find(':'));
  domain.erase(0, std::min(domain.find_first_not_of('0'), domain.size()));
  if (domain.size() < 4) domain.insert(0, 4 - domain.size(), '0');
  return domain + text.substr(text.find(':'));
}

std::vector<std::string> claims_of(std::string_view device) {
  if (!is_vdev(device)) return {canonical_device(device)};
  std::size_t end = device.find(',');
  std::vector<std::string> claims{std::string{device.substr(0, end)}};
  constexpr std::array<std::string_view, 4> kInterface = {
      "iface=", "rx_iface=", "rx_iface_in=", "tx_iface="};
  while (end != std::string_view::npos) {
    device.remove_prefix(end + 1);
    end = device.find(',');
    const std::string_view argument = device.substr(0, end);
    for (const std::string_view key : kInterface) {
      if (argument.substr(0, key.size()) != key) continue;
      const std::string claim{argument.substr(key.size())};
      // One port may receive and transmit on one interface.
      if (std::find(claims.begin(), claims.end(), claim) == claims.end()) claims.push_back(claim);
    }
  }
  return claims;
}

}  // namespace mqsteer
