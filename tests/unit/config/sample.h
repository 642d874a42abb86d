#pragma once

#include "config/config_file.h"

#include <mqsteer/config.h>

#include <string>

namespace mqsteer {

/// Two ports and a bridge in three lines, so that a test's own text begins in line 4.
inline const std::string two_ports =
    "ports:\n"
    "  - {name: left, device: eth1}\n"
    "  - {name: right, device: eth2}\n";

inline Config sample() {
  Config config;
  config.ports = {{.name = "left", .device = "eth1"}, {.name = "right", .device = "eth2"}};
  config.bridges = {{"br0", {"left", "right"}}};
  return config;
}

/// A configuration in which no value is its default.
inline Config unusual() {
  Config config;
  config.instance = "null";
  config.lcores = {0, 2, 3, 1};
  config.idle = IdlePolicy::kPoll;
  config.idle_max_sleep_us = 200;
  config.hugepages = Hugepages::kOff;
  config.ports = {
      {"true", "0000:00:14.0", 8, 4096, 9000, OffloadPolicy::kFix},
      {"1", "net_pcap0,rx_pcap=/tmp/a \"b\".pcap,iface=x", 1, 32, 68, OffloadPolicy::kIgnore},
      {"3.e-5", "eth3", {}, 64, {}, OffloadPolicy::kCheck}};
  config.bridges = {{"off", {"true", "1"}}};
  config.steering = {.mode = SteeringMode::kSoftRss,
                     .workers = {3, 0, 1},
                     .weights = {1000, 1, 1},
                     .symmetric = false,
                     .tunnels = TunnelKey::kOuter,
                     .fragments = Fragments::kTrack,
                     .rss_buckets = 65536,
                     .rss_bits = RssBits::kAboveNic,
                     .balance = false,
                     .rfs_flows = 1024,
                     .tx_guard = true,
                     .order_check = true,
                     .backlog_slots = 256,
                     .backlog_budget = 1048576,
                     .flow_limit = true};
  // Without a port, which no box with a bridge has.
  config.rr = {
      .ipv4 = "10.0.0.1", .ipv6 = "fd00::1", .tcp_port = 5001, .connections = 1024, .work_ns = 300};
  config.capture = {.directory = "/var/a b#c",
                    .format = CaptureFormat::kPcap,
                    .snaplen_bytes = 16,
                    .filter = R"(ether[0] & 1 = 0 and "x" or '\' # not a comment)",
                    .vlan_aware = true,
                    .block_bytes = 65536,
                    .blocks = 1024,
                    .rotate_bytes = std::uint64_t{1} << 50U,
                    .rotate_seconds = 31536000,
                    .files = 1000000};
  return config;
}

/// The one line that a user would see, or "accepted".
inline std::string verdict(const std::string& text) {
  const auto loaded = parse_config(text, "f.yaml");
  return loaded ? "accepted" : loaded.error().text();
}

}  // namespace mqsteer
