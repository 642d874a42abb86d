#include "port/offloads.h"

#include <mqsteer/descriptor.h>

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace mqsteer {
namespace {

using namespace std::string_view_literals;

// Names as in Linux net/ethtool/common.c, netdev_features_strings.
constexpr std::array kGro{"rx-gro"sv};
constexpr std::array kLro{"rx-lro"sv};
constexpr std::array kGroHw{"rx-gro-hw"sv};
constexpr std::array kRxVlan{"rx-vlan-hw-parse"sv};
constexpr std::array kTx{"tx-checksum-ip-generic"sv, "tx-checksum-ipv4"sv, "tx-checksum-ipv6"sv,
                         "tx-checksum-sctp"sv};

constexpr std::array kMerging{
    Offload{"gro", "received frames are merged into longer ones", kGro},
    Offload{"lro", "received frames are merged into longer ones", kLro},
    Offload{"rx-gro-hw", "received frames are merged into longer ones", kGroHw},
};
constexpr std::array kStripping{
    Offload{"rxvlan", "VLAN tags are taken out of received frames", kRxVlan},
};
constexpr std::array kPeer{
    Offload{"tx", "frames come without their checksums", kTx},
};

int ethtool_ioctl(const std::string& interface, void* command) {
  const Descriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  if (!socket.valid()) return errno;
  ifreq request{};
  if (interface.size() >= sizeof request.ifr_name) return ENAMETOOLONG;
  memcpy(request.ifr_name, interface.c_str(), interface.size() + 1);
  request.ifr_data = static_cast<char*>(command);
  return ioctl(socket.get(), SIOCETHTOOL, &request) == 0 ? 0 : errno;
}

/// An ethtool command with a variable part behind its fixed one, aligned for both.
template <class Header>
class Command {
 public:
  explicit Command(std::size_t variable_bytes)
      : words_((sizeof(Header) + variable_bytes + sizeof(std::uint64_t) - 1) /
               sizeof(std::uint64_t)) {}
  Header* operator->() { return reinterpret_cast<Header*>(words_.data()); }
  void* data() { return words_.data(); }
  [[nodiscard]] const std::byte* variable() const {
    return reinterpret_cast<const std::byte*>(words_.data()) + sizeof(Header);
  }
  [[nodiscard]] std::byte* variable() {
    return reinterpret_cast<std::byte*>(words_.data()) + sizeof(Header);
  }

 private:
  std::vector<std::uint64_t> words_;
};

Expected<std::vector<std::string>> feature_names(const std::string& interface) {
  const std::string what = "reading the feature names of " + interface;
  Command<ethtool_sset_info> info{sizeof(std::uint32_t)};
  info->cmd = ETHTOOL_GSSET_INFO;
  info->sset_mask = 1ULL << ETH_SS_FEATURES;
  if (const int code = ethtool_ioctl(interface, info.data()); code != 0) return fail(code, what);
  std::uint32_t count = 0;
  memcpy(&count, info.variable(), sizeof count);
  if (info->sset_mask == 0 || count > 4096) return fail(EIO, what);

  Command<ethtool_gstrings> strings{std::size_t{count} * ETH_GSTRING_LEN};
  strings->cmd = ETHTOOL_GSTRINGS;
  strings->string_set = ETH_SS_FEATURES;
  strings->len = count;
  if (const int code = ethtool_ioctl(interface, strings.data()); code != 0) {
    return fail(code, what);
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(count, strings->len); ++i) {
    const auto* text = reinterpret_cast<const char*>(strings.variable()) + i * ETH_GSTRING_LEN;
    names.emplace_back(text, strnlen(text, ETH_GSTRING_LEN));
  }
  return names;
}

std::size_t blocks_for(std::size_t features) {
  return (features + 31) / 32;
}

}  // namespace

std::span<const Offload> merging_offloads() noexcept {
  return kMerging;
}
std::span<const Offload> tag_stripping_offloads() noexcept {
  return kStripping;
}
std::span<const Offload> peer_offloads() noexcept {
  return kPeer;
}

Expected<Features> read_features(const std::string& interface) {
  const auto names = feature_names(interface);
  if (!names) return tl::unexpected(names.error());
  const std::size_t blocks = blocks_for(names->size());
  Command<ethtool_gfeatures> get{blocks * sizeof(ethtool_get_features_block)};
  get->cmd = ETHTOOL_GFEATURES;
  get->size = static_cast<std::uint32_t>(blocks);
  if (const int code = ethtool_ioctl(interface, get.data()); code != 0) {
    return fail(code, "reading the features of " + interface);
  }
  Features features;
  for (std::size_t i = 0; i < names->size(); ++i) {
    ethtool_get_features_block block{};
    memcpy(&block, get.variable() + i / 32 * sizeof block, sizeof block);
    const std::uint32_t bit = 1U << (i % 32);
    const bool changeable = (block.available & bit) != 0 && (block.never_changed & bit) == 0;
    if (changeable) features[(*names)[i]] = (block.active & bit) != 0;
  }
  return features;
}

Expected<void> write_features(const std::string& interface, const Features& wanted) {
  const auto names = feature_names(interface);
  if (!names) return tl::unexpected(names.error());
  const std::size_t blocks = blocks_for(names->size());
  Command<ethtool_sfeatures> set{blocks * sizeof(ethtool_set_features_block)};
  set->cmd = ETHTOOL_SFEATURES;
  set->size = static_cast<std::uint32_t>(blocks);
  for (std::size_t i = 0; i < names->size(); ++i) {
    const auto found = wanted.find((*names)[i]);
    if (found == wanted.end()) continue;
    ethtool_set_features_block block{};
    std::byte* const at = set.variable() + i / 32 * sizeof block;
    memcpy(&block, at, sizeof block);
    block.valid |= 1U << (i % 32);
    if (found->second) block.requested |= 1U << (i % 32);
    memcpy(at, &block, sizeof block);
  }
  if (const int code = ethtool_ioctl(interface, set.data()); code != 0) {
    return fail(code, "setting features of " + interface);
  }
  return {};
}

std::vector<std::string> active_features(const Offload& offload, const Features& features) {
  std::vector<std::string> active;
  for (const std::string_view name : offload.features) {
    const auto found = features.find(name);
    if (found != features.end() && found->second) active.push_back(found->first);
  }
  return active;
}

std::string interface_driver(const std::string& interface) {
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  if (ethtool_ioctl(interface, &info) != 0) return {};
  return {info.driver, strnlen(info.driver, sizeof info.driver)};
}

InterfaceChannels interface_channels(const std::string& interface) {
  ethtool_channels told{};
  told.cmd = ETHTOOL_GCHANNELS;
  InterfaceChannels channels;
  if (ethtool_ioctl(interface, &told) != 0) return channels;
  const auto limited = [](std::uint32_t count) {
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(count, 1024));
  };
  channels.rx_only = limited(told.rx_count);
  if (told.max_combined != 0 && told.combined_count != 0) {
    channels.combined = limited(told.combined_count);
  }
  return channels;
}

std::uint32_t interface_speed_mbps(const std::string& interface) {
  ethtool_cmd settings{};
  settings.cmd = ETHTOOL_GSET;
  if (ethtool_ioctl(interface, &settings) != 0) return 0;
  const std::uint32_t speed = ethtool_cmd_speed(&settings);
  return speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) || speed == 0xffff ? 0 : speed;
}

}  // namespace mqsteer
