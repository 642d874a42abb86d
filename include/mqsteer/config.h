#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mqsteer {

enum class SteeringMode : std::uint8_t { kNone, kRps, kSoftRss, kRfs };
enum class IdlePolicy : std::uint8_t { kPoll, kAdaptive };
enum class Hugepages : std::uint8_t { kAuto, kOff };
enum class OffloadPolicy : std::uint8_t { kCheck, kFix, kIgnore };
enum class TunnelKey : std::uint8_t { kInner, kOuter };
enum class Fragments : std::uint8_t {
  kKey,    ///< by addresses and protocol
  kTrack,  ///< with their flow, learnt from the first fragment
};
enum class CaptureFormat : std::uint8_t { kPcapng, kPcap };
enum class RssBits : std::uint8_t {
  kAuto,      ///< hardware with one RX queue, above_nic with several
  kHardware,  ///< the low bits, as a NIC
  kAboveNic,  ///< shifted by the NIC's RETA bits, which its own spreading has used up
};

/// One port. device: a PCI address, a kernel interface name, or a DPDK vdev string.
struct PortConfig {
  std::string name = {};
  std::string device = {};
  std::optional<std::uint16_t> rx_queues = {};  ///< none: as many as RX lcores and the device allow
  std::uint16_t rx_descriptors = 1024;
  std::optional<std::uint16_t> mtu = {};  ///< bytes of L3; none: what the device has
  OffloadPolicy offloads = OffloadPolicy::kCheck;
  friend bool operator==(const PortConfig&, const PortConfig&) = default;
};

/// A transparent pair of ports (mode `wire`).
struct BridgeConfig {
  std::string name = {};
  std::array<std::string, 2> ports = {};
  friend bool operator==(const BridgeConfig&, const BridgeConfig&) = default;
};

struct SteeringConfig {
  SteeringMode mode = SteeringMode::kRps;
  std::vector<std::uint16_t> workers = {};  ///< worker numbers; empty: all
  std::vector<std::uint32_t> weights = {};  ///< one a listed worker, 1..1000; empty: equal
  bool symmetric = true;
  TunnelKey tunnels = TunnelKey::kInner;
  Fragments fragments = Fragments::kKey;
  std::uint32_t rss_buckets = 128;  ///< power of two, 2..65536
  RssBits rss_bits = RssBits::kAuto;
  bool balance = true;              ///< soft-rss: move buckets from busy workers to others
  std::uint32_t rfs_flows = 65536;  ///< flows that rfs remembers the consumer of
  bool tx_guard = false;     ///< a flow moves when its packets have left the old worker's TX queue
  bool order_check = false;  ///< verify the order of every flow at TX
  std::optional<std::uint32_t> backlog_slots = {};  ///< power of two; none: 2 ms of the port's link
  std::uint32_t backlog_budget = 65536;             ///< packets in flight per RX lcore
  bool flow_limit = false;
  friend bool operator==(const SteeringConfig&, const SteeringConfig&) = default;
};

/// A port at which mqsteer itself answers TCP (the rr handler). In no bridge; one a box.
struct RrConfig {
  std::string port = {};  ///< a port's name; empty: none
  std::string ipv4 = {};  ///< the address it answers for; one of the two at least
  std::string ipv6 = {};
  std::uint16_t tcp_port = 7;
  std::uint32_t connections = 65536;  ///< that one worker can own
  std::uint32_t work_ns = 0;          ///< extra work for every request, for measuring
  friend bool operator==(const RrConfig&, const RrConfig&) = default;
};

/// What a capture will write. Read and checked; this version captures nothing yet.
struct CaptureConfig {
  std::string directory = "/var/lib/mqsteer/captures";
  CaptureFormat format = CaptureFormat::kPcapng;
  std::uint32_t snaplen_bytes = 262144;
  std::string filter = {};  ///< libpcap's syntax; empty: everything
  bool vlan_aware = false;
  std::uint32_t block_bytes = 4194304;  ///< power of two
  std::uint32_t blocks = 16;            ///< blocks per RX queue
  std::uint64_t rotate_bytes = 0;       ///< 0: never
  std::uint32_t rotate_seconds = 0;     ///< 0: never
  std::uint32_t files = 0;              ///< files kept per RX queue; 0: all
  friend bool operator==(const CaptureConfig&, const CaptureConfig&) = default;
};

/// The whole configuration. Plain values with the defaults; config/ reads it from YAML.
struct Config {
  std::string instance = "mqsteer";
  std::vector<std::uint16_t> lcores = {};  ///< CPUs; empty: those of the affinity mask
  IdlePolicy idle = IdlePolicy::kAdaptive;
  std::uint32_t idle_max_sleep_us = 100;
  Hugepages hugepages = Hugepages::kAuto;
  std::vector<PortConfig> ports = {};
  std::vector<BridgeConfig> bridges = {};  ///< a port of none is a sink: received and consumed
  SteeringConfig steering;
  RrConfig rr;
  CaptureConfig capture;
  friend bool operator==(const Config&, const Config&) = default;
};

}  // namespace mqsteer
