#include "packet/flow_key.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace mqsteer {
namespace {

constexpr std::array<const char*, kPacketKinds> kKindNames = {
    "tcp",        "udp",       "udplite", "sctp", "dccp", "frag",
    "icmp-error", "icmp-echo", "esp",     "ah",   "ip",   "l2"};

/// The key's bytes in network order.
std::array<std::uint8_t, FlowKey::kWords * 4> bytes_of(const FlowKey& key) {
  std::array<std::uint8_t, FlowKey::kWords * 4> bytes{};
  for (std::size_t i = 0; i < key.word_count(); ++i) {
    const std::uint32_t word = htonl(key.words[i]);
    std::memcpy(&bytes[i * 4], &word, sizeof word);
  }
  return bytes;
}

template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), pattern, arguments...);
  return {text.data(), static_cast<std::size_t>(std::max(size, 0))};
}

std::string mac_text(const std::uint8_t* mac) {
  return format("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

std::string address_text(const FlowKey& key, std::size_t end) {
  const auto bytes = bytes_of(key);
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool v6 = key.family == AddressFamily::kIpv6;
  inet_ntop(v6 ? AF_INET6 : AF_INET, &bytes[end * (v6 ? 16 : 4)], text.data(), text.size());
  return text.data();
}

std::string endpoint_text(const FlowKey& key, std::size_t end) {
  const std::uint32_t ports = key.words[key.word_count() - 1];
  const unsigned port = end == 0 ? ports >> 16U : ports & 0xffffU;
  const std::string address = address_text(key, end);
  if (key.family == AddressFamily::kIpv6) return "[" + address + "]:" + std::to_string(port);
  return address + ":" + std::to_string(port);
}

}  // namespace

bool operator==(const FlowKey& a, const FlowKey& b) noexcept {
  return a.family == b.family && a.form == b.form && a.protocol == b.protocol &&
         std::equal(a.words.begin(), a.words.begin() + static_cast<std::ptrdiff_t>(a.word_count()),
                    b.words.begin());
}

std::string to_text(const FlowKey& key) {
  if (key.form == KeyForm::kEtherType) {
    const auto bytes = bytes_of(key);
    return mac_text(&bytes[0]) + " " + mac_text(&bytes[6]) + format(" type=0x%x", key.words[3]);
  }
  if (key.form == KeyForm::kPorts) return endpoint_text(key, 0) + " " + endpoint_text(key, 1);
  const std::uint32_t last = key.words[key.word_count() - 1];
  const std::string ends = address_text(key, 0) + " " + address_text(key, 1);
  if (key.form == KeyForm::kEchoId) return ends + format(" id=%u", last);
  if (key.form == KeyForm::kSpi) return ends + format(" spi=0x%x", last);
  return ends + format(" %u", static_cast<unsigned>(key.protocol));
}

const char* name_of(PacketKind kind) noexcept {
  return kKindNames[static_cast<std::size_t>(kind)];
}

}  // namespace mqsteer
