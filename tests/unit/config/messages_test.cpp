#include "unit/config/sample.h"

#include <gtest/gtest.h>

namespace mqsteer {
namespace {

struct Row {
  std::string text;     ///< what stands in the file, after two_ports (so from line 4 on)
  std::string message;  ///< after "f.yaml:"
};

void expect_messages(std::initializer_list<Row> rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(verdict(two_ports + row.text), "f.yaml:" + row.message) << row.text;
  }
}

TEST(Messages, UnknownKeysNameTheAllowedAndTheNearest) {
  const std::string top =
      "; allowed: instance, lcores, idle, idle_max_sleep_us, hugepages, ports, bridge, steering, "
      "rr, capture";
  const std::string steering =
      "; allowed: mode, workers, weights, hash, symmetric, tunnels, fragments, rss_buckets, "
      "rss_bits, balance, rfs_flows, tx_guard, order_check, backlog_slots, backlog_budget, "
      "flow_limit";
  expect_messages({
      {"instanze: a\n", "4: instanze: unknown key, did you mean instance?" + top},
      {"bananas: a\n", "4: bananas: unknown key" + top},
      {"mode: rps\n", "4: mode: unknown key, did you mean steering.mode?" + top},
      {"offloads: fix\n", "4: offloads: unknown key, did you mean ports.offloads?" + top},
      {"weights: 1\n", "4: weights: unknown key, did you mean steering.weights?" + top},
      {"\"a\\nb\": 1\n", "4: a\\x0ab: unknown key" + top},
      {"<<: {instance: a}\n", "4: <<: unknown key" + top},
      {"steering:\n  wokrers: all\n",
       "5: steering.wokrers: unknown key, did you mean workers?" + steering},
      {"steering: {snaplen_bytes: 5}\n",
       "4: steering.snaplen_bytes: unknown key, did you mean capture.snaplen_bytes?" + steering},
      {"bridge:\n  - {name: b, ports: [left, right],\n     link: true}\n",
       "6: bridge[0].link: unknown key; allowed: name, mode, ports, forward_reserved, "
       "link_propagation"},
  });
}

TEST(Messages, KeysGivenTwiceNameBothLines) {
  expect_messages({
      {"idle: poll\nidle: poll\n", "5: idle: given twice, first in line 4; allowed: once"},
      {"ports: []\n", "4: ports: given twice, first in line 1; allowed: once"},
      {"steering: {mode: rps,\n  mode: rps}\n",
       "5: steering.mode: given twice, first in line 4; allowed: once"},
  });
}

TEST(Messages, WrongKindsOfValue) {
  const std::string idle = "; allowed: poll, adaptive";
  const std::string sleep = "; allowed: 1..200 us";
  expect_messages({
      {"idle:\n", "4: idle: there is no value" + idle},
      {"idle: ~\n", "4: idle: there is no value" + idle},
      {"idle: [poll]\n", "4: idle: this is a list, one value is wanted" + idle},
      {"idle: {a: b}\n", "4: idle: this is a section, a value is wanted" + idle},
      {"idle_max_sleep_us: [1]\n",
       "4: idle_max_sleep_us: this is a list, one value is wanted" + sleep},
      {"lcores: [0, [1]]\n",
       "4: lcores: a list within a list, or no value; allowed: auto, or at most 127 CPUs such as "
       "0,2-3"},
      {"steering: rps\n",
       "4: steering: this is not a section with keys; allowed: mode, workers, weights, hash, "
       "symmetric, tunnels, fragments, rss_buckets, rss_bits, balance, rfs_flows, tx_guard, "
       "order_check, backlog_slots, backlog_budget, flow_limit"},
      {"bridge: {name: br0}\n",
       "4: bridge: this is not a list; allowed: a list of sections with the keys name, mode, "
       "ports, forward_reserved, link_propagation"},
      {"bridge: [left]\n",
       "4: bridge[0]: this is not a section with keys; allowed: name, mode, ports, "
       "forward_reserved, link_propagation"},
      {"bridge:\n  - name: br0\n",
       "5: bridge[0].ports: this key is missing; allowed: the names of two ports, [left, right]"},
      {"bridge:\n  - ports: [left, right]\n",
       "5: bridge[0].name: this key is missing; allowed: 1..31 of the characters a-z A-Z 0-9 _ . "
       "-"},
  });
}

TEST(Messages, NumbersAreReadStrictly) {
  const std::string tail = "; allowed: 1..200 us";
  for (const std::string text :
       {"010", "0x10", "1e3", "-1", "+1", ".inf", "1.0", "1_0", "ten", "true"}) {
    std::string file = two_ports;
    file.append("idle_max_sleep_us: ").append(text).append("\n");
    std::string message = "f.yaml:4: idle_max_sleep_us: '";
    message.append(text).append("' is not a whole decimal number").append(tail);
    EXPECT_EQ(verdict(file), message);
  }
  expect_messages({
      {"idle_max_sleep_us: 0\n", "4: idle_max_sleep_us: 0 is out of range" + tail},
      {"idle_max_sleep_us: 201\n", "4: idle_max_sleep_us: 201 is out of range" + tail},
      {"idle_max_sleep_us: 18446744073709551616\n",
       "4: idle_max_sleep_us: '18446744073709551616' is out of range" + tail},
      {"idle_max_sleep_us: 4294967296\n",
       "4: idle_max_sleep_us: 4294967296 is out of range" + tail},
      {"idle_max_sleep_us: \"100\"\n",
       "4: idle_max_sleep_us: '100' stands in quotes, which makes it a text" + tail},
  });
}

TEST(Messages, SwitchesAreReadStrictly) {
  const std::string tail = "; allowed: true, false, on, off";
  expect_messages({
      {"steering: {symmetric: yes}\n", "4: steering.symmetric: 'yes' is not a switch" + tail},
      {"steering: {symmetric: True}\n", "4: steering.symmetric: 'True' is not a switch" + tail},
      {"steering: {symmetric: 1}\n", "4: steering.symmetric: '1' is not a switch" + tail},
      {"steering: {flow_limit: \" on\"}\n",
       "4: steering.flow_limit: ' on' stands in quotes, which makes it a text" + tail},
  });
}

TEST(Messages, WordsOfEveryEnum) {
  expect_messages({
      {"idle: lazy\n", "4: idle: 'lazy' is not an idle policy; allowed: poll, adaptive"},
      {"hugepages: on\n", "4: hugepages: 'on' is not a hugepage setting; allowed: auto, off"},
      {"steering: {mode: fast}\n",
       "4: steering.mode: 'fast' is not a steering mode; allowed: none, rps, soft-rss, rfs"},
      {"steering: {tunnels: both}\n",
       "4: steering.tunnels: 'both' is not a tunnel setting; allowed: inner, outer"},
      {"steering: {rss_bits: low}\n",
       "4: steering.rss_bits: 'low' is not a choice of hash bits; allowed: auto, hardware, "
       "above_nic"},
      {"capture: {format: erf}\n",
       "4: capture.format: 'erf' is not a capture format; allowed: pcapng, pcap"},
  });
}

TEST(Messages, WhatThisVersionCannotDoIsNotAccepted) {
  const auto later = [](const std::string& key, const std::string& value,
                        const std::string& allowed) {
    return "4: " + key + ": '" + value + "' is not supported by this version; allowed: " + allowed;
  };
  const std::string bridge = "bridge: [{name: b, ports: [left, right], ";
  expect_messages({
      {"idle: interrupt\n", later("idle", "interrupt", "poll, adaptive")},
      {"steering: {hash: nic}\n", later("steering.hash", "nic", "software")},
      {"capture: {enabled: true}\n", later("capture.enabled", "true", "false")},
      {bridge + "mode: bridge}]\n", later("bridge[0].mode", "bridge", "wire")},
      {bridge + "forward_reserved: none}]\n", later("bridge[0].forward_reserved", "none", "all")},
      {bridge + "link_propagation: true}]\n", later("bridge[0].link_propagation", "true", "false")},
  });
}

TEST(Messages, RangesOfTheNumbers) {
  const auto row = [](const std::string& section, const std::string& key, const std::string& value,
                      const std::string& message) {
    return Row{section + ": {" + key + ": " + value + "}\n",
               "4: " + section + "." + key + ": " + value + message};
  };
  const std::string buckets = "; allowed: a power of two 2..65536 buckets";
  const std::string slots = "; allowed: auto, or a power of two 128..32768 packets";
  const std::string budget = " is out of range; allowed: 64..1048576 packets";
  const std::string blocks = "; allowed: a power of two 65536..67108864 bytes";
  expect_messages({
      row("steering", "rss_buckets", "1", " is out of range" + buckets),
      row("steering", "rss_buckets", "131072", " is out of range" + buckets),
      row("steering", "rss_buckets", "100", " is not a power of two" + buckets),
      row("steering", "backlog_slots", "32", " is out of range" + slots),
      row("steering", "backlog_slots", "65536", " is out of range" + slots),
      row("steering", "backlog_slots", "1000", " is not a power of two" + slots),
      row("steering", "backlog_budget", "63", budget),
      row("steering", "backlog_budget", "1048577", budget),
      row("capture", "snaplen_bytes", "15", " is out of range; allowed: 16..262144 bytes"),
      row("capture", "snaplen_bytes", "262145", " is out of range; allowed: 16..262144 bytes"),
      row("capture", "block_bytes", "65537", " is not a power of two" + blocks),
      row("capture", "block_bytes", "134217728", " is out of range" + blocks),
      row("capture", "blocks", "1", " is out of range; allowed: 2..1024 blocks"),
      row("capture", "rotate_bytes", "1125899906842625",
          " is out of range; allowed: 0..1125899906842624 bytes"),
      row("capture", "rotate_seconds", "31536001",
          " is out of range; allowed: 0..31536000 seconds"),
      row("capture", "files", "1000001", " is out of range; allowed: 0..1000000 files"),
  });
}

TEST(Messages, Lists) {
  const std::string cpus = "; allowed: auto, or at most 127 CPUs such as 0,2-3";
  const std::string workers = "; allowed: all, or worker numbers such as 0,2-3";
  const std::string weights = "; allowed: equal, or a weight 1..1000 for each worker such as 3,1";
  expect_messages({
      {"lcores: 1,1\n", "4: lcores: 1 is given twice" + cpus},
      {"lcores: []\n", "4: lcores: the list is empty" + cpus},
      {"lcores: all\n", "4: lcores: 'all' is not a number or a range" + cpus},
      {"lcores: 3-0\n", "4: lcores: '3-0' runs backwards" + cpus},
      {"lcores: 0-128\n", "4: lcores: 129 numbers are more than 128" + cpus},
      {"lcores: [01]\n", "4: lcores: '01' is not a number or a range" + cpus},
      {"steering: {workers: 128}\n", "4: steering.workers: 128 is out of range" + workers},
      {"steering: {workers: [2, 0-2]}\n", "4: steering.workers: 2 is given twice" + workers},
      {"steering: {workers: auto}\n",
       "4: steering.workers: 'auto' is not a number or a range" + workers},
      {"steering: {weights: [0, 1]}\n", "4: steering.weights: 0 is out of range" + weights},
      {"steering: {weights: 1001}\n", "4: steering.weights: 1001 is out of range" + weights},
      {"steering: {weights: 1-3}\n",
       "4: steering.weights: '1-3' is not a whole decimal number" + weights},
      {"steering: {workers: [0, 1], weights: [1]}\n",
       "4: steering.weights: 1 weights for 2 workers; allowed: equal, or a weight for each worker"},
      {"lcores: 0-1\nsteering: {weights: [1, 2, 3]}\n",
       "5: steering.weights: 3 weights for 2 workers; allowed: equal, or a weight for each worker"},
      {"lcores: 0-1\nsteering: {workers: 2}\n",
       "5: steering.workers: worker 2 does not exist with 2 lcores; allowed: 0..1"},
  });
}

TEST(Messages, Texts) {
  const std::string name = "; allowed: 1..32 of the characters a-z A-Z 0-9 _ -";
  const std::string long_name(33, 'x');
  expect_messages({
      {"instance: a.b\n", "4: instance: 'a.b' is not an instance name" + name},
      {"instance: \"\"\n", "4: instance: an empty text is not an instance name" + name},
      {"instance: ../x\n", "4: instance: '../x' is not an instance name" + name},
      {"instance: " + long_name + "\n",
       "4: instance: '" + long_name + "' is not an instance name" + name},
      {"capture: {directory: here}\n",
       "4: capture.directory: 'here' is not an absolute path; allowed: an absolute path"},
      {"capture: {filter: \"a\\nb\"}\n",
       "4: capture.filter: 'a\\x0ab' has control characters; allowed: a filter of libpcap on one "
       "line, \"\" for everything"},
      {"capture: {filter: " + std::string(65536, 'x') + "}\n",
       "4: capture.filter: the filter is longer than 65535 characters; allowed: a filter of "
       "libpcap on one line, \"\" for everything"},
  });
}

TEST(Messages, Ports) {
  const auto port = [](const std::string& rest) {
    return verdict("ports:\n  - {name: a, device: eth1, " + rest + "}\n");
  };
  EXPECT_EQ(port("rx_queues: 0"),
            "f.yaml:2: ports[0].rx_queues: 0 is out of range; allowed: auto, or 1..128");
  EXPECT_EQ(port("rx_queues: 129"),
            "f.yaml:2: ports[0].rx_queues: 129 is out of range; allowed: auto, or 1..128");
  EXPECT_EQ(port("rx_queues: all"),
            "f.yaml:2: ports[0].rx_queues: 'all' is not a whole decimal number; allowed: auto, or "
            "1..128");
  const std::string descriptors = "; allowed: 32..4096, a multiple of 8";
  EXPECT_EQ(port("rx_descriptors: 31"),
            "f.yaml:2: ports[0].rx_descriptors: 31 is out of range" + descriptors);
  EXPECT_EQ(port("rx_descriptors: 4104"),
            "f.yaml:2: ports[0].rx_descriptors: 4104 is out of range" + descriptors);
  EXPECT_EQ(port("rx_descriptors: 33"),
            "f.yaml:2: ports[0].rx_descriptors: 33 is not a multiple of 8" + descriptors);
  const std::string mtu = " is out of range; allowed: auto, or 68..9600 bytes";
  EXPECT_EQ(port("mtu: 67"), "f.yaml:2: ports[0].mtu: 67" + mtu);
  EXPECT_EQ(port("mtu: 9601"), "f.yaml:2: ports[0].mtu: 9601" + mtu);
  EXPECT_EQ(port("offloads: keep"),
            "f.yaml:2: ports[0].offloads: 'keep' is not an offload policy; allowed: check, fix, "
            "ignore");
}

TEST(Messages, PortsThatAreMissingOrClash) {
  const std::string device =
      "; allowed: a PCI address such as 0000:00:14.0, a kernel interface of at most 15 characters, "
      "or a DPDK vdev such as net_null0";
  const std::string name = "; allowed: 1..31 of the characters a-z A-Z 0-9 _ . -";
  const auto taken = [](const std::string& what) {
    return "f.yaml:3: ports[1].device: '" + what +
           "' is already the device of port a; allowed: a device of its own for each port";
  };
  const auto two = [](const std::string& first, const std::string& second) {
    return verdict("ports:\n  - {name: a, device: \"" + first + "\"}\n  - {name: b, device: \"" +
                   second + "\"}\n");
  };
  EXPECT_EQ(verdict("instance: a\n"), "f.yaml:1: ports: there are no ports; allowed: 1..32 ports");
  EXPECT_EQ(verdict("instance: a\nports: []\n"),
            "f.yaml:2: ports: there are no ports; allowed: 1..32 ports");
  EXPECT_EQ(verdict("instance: a\nports:\n"),
            "f.yaml:2: ports: there are no ports; allowed: 1..32 ports");
  EXPECT_EQ(verdict("ports: [{name: a}]\n"),
            "f.yaml:1: ports[0].device: this key is missing" + device);
  EXPECT_EQ(verdict("ports: [{device: eth1}]\n"),
            "f.yaml:1: ports[0].name: this key is missing" + name);
  EXPECT_EQ(verdict("ports: [{name: a b, device: eth1}]\n"),
            "f.yaml:1: ports[0].name: 'a b' is not a name" + name);
  EXPECT_EQ(verdict("ports: [{name: a, device: a/b}]\n"),
            "f.yaml:1: ports[0].device: 'a/b' is not a device" + device);
  EXPECT_EQ(verdict("ports: [{name: a, device: net_}]\n"),
            "f.yaml:1: ports[0].device: 'net_' is not a DPDK vdev" + device);
  EXPECT_EQ(verdict("ports:\n  - {name: a, device: eth1}\n  - {name: a, device: eth2}\n"),
            "f.yaml:3: ports[1].name: another port is called 'a' too; allowed: a name of its own");
  EXPECT_EQ(two("eth1", "eth1"), taken("eth1"));
  EXPECT_EQ(two("0000:00:14.0", "00:14.0"), taken("0000:00:14.0"));
  EXPECT_EQ(two("0000:0A:14.0", "0000:0a:14.0"), taken("0000:0a:14.0"));
  EXPECT_EQ(two("net_null0", "net_null0,size=64"), taken("net_null0"));
  EXPECT_EQ(two("eth1", "net_af_packet0,iface=eth1"), taken("eth1"));
  std::string many = "ports:\n";
  for (int i = 0; i < 33; ++i) {
    const std::string n = std::to_string(i);
    many.append("  - {name: p").append(n).append(", device: eth").append(n).append("}\n");
  }
  EXPECT_EQ(verdict(many), "f.yaml:1: ports: 33 ports are too many; allowed: 1..32 ports");
}

TEST(Messages, Bridges) {
  const auto bridge = [](const std::string& ports) {
    return "bridge:\n  - {name: b, ports: " + ports + "}\n";
  };
  const std::string two = "; allowed: the names of two ports, [left, right]";
  expect_messages({
      {bridge("[left, middle]"),
       "5: bridge[0].ports: 'middle' is not a port; allowed: left, right"},
      {bridge("[left, left]"),
       "5: bridge[0].ports: 'left' is both ports; allowed: two ports of left, right"},
      {bridge("[left]"), "5: bridge[0].ports: 1 ports, a bridge joins two" + two},
      {bridge("[left, right, left]"), "5: bridge[0].ports: 3 ports, a bridge joins two" + two},
      {bridge("left"), "5: bridge[0].ports: 'left' is not a list" + two},
      {bridge("[left, \"\"]"), "5: bridge[0].ports: an empty text is not a name" + two},
      {bridge("[left, right]") + "  - {name: c, ports: [right, left]}\n",
       "6: bridge[1].ports: 'right' is already in bridge b; allowed: one bridge a port"},
      {bridge("[left, right]") + "  - {name: b, ports: [right, left]}\n",
       "6: bridge[1].name: another bridge is called 'b' too; allowed: a name of its own"},
  });
}

}  // namespace
}  // namespace mqsteer
