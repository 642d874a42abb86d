#pragma once

#include "packet/flow_key.h"
#include "support/packet_builder.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>

namespace mqsteer::test {

inline constexpr KeyOptions kWireOrder{.symmetric = false, .tunnels = TunnelKey::kInner};
inline constexpr KeyOptions kOuter{.symmetric = true, .tunnels = TunnelKey::kOuter};

/// dissect() of a copy with exactly the packet's size, so that a sanitizer sees a read behind it;
/// and the short cut must say what the whole pass says.
inline Dissection dissect_checked(std::span<const std::uint8_t> packet,
                                  const KeyOptions& options = {}) {
  const auto copy = std::make_unique<std::byte[]>(packet.size());
  if (!packet.empty()) std::memcpy(copy.get(), packet.data(), packet.size());
  const Dissection found = dissect(copy.get(), packet.size(), packet.size(), options);
  const Dissection whole = dissect_any(copy.get(), packet.size(), options);
  EXPECT_EQ(found.key, whole.key) << to_text(found.key) << " / " << to_text(whole.key);
  EXPECT_EQ(found.key.kind, whole.key.kind);
  EXPECT_EQ(found.flags, whole.flags);
  EXPECT_EQ(found.l3, whole.l3);
  EXPECT_EQ(found.l4, whole.l4);
  return found;
}

/// `kind key`, as mqsim prints them, and ` !` where something could not be read.
inline std::string key_of(std::span<const std::uint8_t> packet, const KeyOptions& options = {}) {
  const Dissection found = dissect_checked(packet, options);
  return std::string{name_of(found.key.kind)} + " " + to_text(found.key) +
         ((found.flags & kUnreadable) != 0 ? " !" : "");
}

inline std::string key_of(const Packet& packet, const KeyOptions& options = {}) {
  return key_of(packet.bytes(), options);
}

inline unsigned flags_of(const Packet& packet) {
  return dissect_checked(packet.bytes()).flags;
}

}  // namespace mqsteer::test
