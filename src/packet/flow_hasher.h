#pragma once

#include "packet/flow_key.h"
#include "packet/fragment.h"
#include "packet/hash.h"

#include <mqsteer/config.h>
#include <mqsteer/packet_meta.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

struct rte_mbuf;

namespace mqsteer {

/// Everything that decides a packet's hash. A change of any of it is a change of the steering
/// index.
struct HasherConfig {
  enum HashKind : std::uint8_t { kFast, kToeplitz } kind = kFast;
  bool symmetric = true;
  TunnelKey tunnels = TunnelKey::kInner;
  ToeplitzKey key = kMicrosoftKey;  ///< for kToeplitz
};

/// From packets to flow hashes, a burst at a time.
///
/// thread: any number may share one; constant after construction. Copies are cheap.
class FlowHasher {
 public:
  explicit FlowHasher(const HasherConfig& config);

  /// Fills hash, length, kind, l3 and l4 of every packet, and ORs its findings into flags.
  ///
  /// burst: packets with mbuf set, of any number, best no more than kMaxBurst; mbufs stay the
  ///   caller's and are only read
  void run(std::span<PacketMeta> burst) const noexcept;

  /// The fragment that a packet of kind kFragment is, of any number of segments; the mbuf is only
  /// read.
  [[nodiscard]] std::optional<Fragment> fragment_of(const rte_mbuf& mbuf) const noexcept;

  /// What run() says, for plain bytes and by the same functions: what mqsim and `explain` say is
  /// what the data path does. Parameters as for dissect().
  struct Explained {
    Dissection dissection;
    std::uint32_t hash = 0;
  };
  [[nodiscard]] Explained explain(const std::byte* data, std::size_t readable,
                                  std::size_t frame_length) const noexcept;

  [[nodiscard]] std::uint32_t hash_of(const FlowKey& key) const noexcept;
  [[nodiscard]] const HasherConfig& config() const noexcept { return config_; }

 private:
  HasherConfig config_;
  KeyOptions options_;
  std::shared_ptr<const Toeplitz> toeplitz_;  ///< none for kFast
};

}  // namespace mqsteer
