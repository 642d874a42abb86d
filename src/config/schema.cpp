#include "config/schema.h"

#include "config/device_name.h"
#include "config/host_address.h"
#include "config/schema_values.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace mqsteer::schema {
namespace {

template <class T>
struct MemberOf;
template <class S, class T>
struct MemberOf<T S::*> {
  using Section = S;
  using Type = T;
};

/// A row for a member: everything about its type comes from schema_values.h.
template <auto kMember>
auto row(std::string_view name, const Rule& rule, const Note& note) {
  using Section = typename MemberOf<decltype(kMember)>::Section;
  using Type = typename MemberOf<decltype(kMember)>::Type;
  Key<Section> key{};
  key.name = name;
  key.rule = rule;
  key.note = note;
  key.allowed = allowed_text<Type>(rule);
  key.read = [](Section& into, const Key<Section>& self, const Value& value) -> Expected<void> {
    auto parsed = Parse<Type>::from(value, self.rule, self.allowed);
    if (!parsed) return tl::unexpected(parsed.error());
    into.*kMember = std::move(*parsed);
    return {};
  };
  key.check = [](const Section& from, const Key<Section>& self) {
    return check_value(from.*kMember, self.rule, self.allowed);
  };
  key.write = [](const Section& from, const Key<Section>& self) {
    return value_text(from.*kMember, self.rule);
  };
  key.copy = [](Section& to, const Section& from) { to.*kMember = from.*kMember; };
  return key;
}

/// A key of the design that has one value in this version, so no member either.
template <class S>
Key<S> fixed_row(std::string_view name, std::string_view value, std::string_view help) {
  Key<S> key{};
  key.name = name;
  key.rule.fixed = value;
  key.note.help = help;
  key.allowed = value;
  key.read = [](S& /*into*/, const Key<S>& self, const Value& given) -> Expected<void> {
    const auto text = one_text(given, self.allowed);
    if (!text) return tl::unexpected(text.error());
    const bool off = self.rule.fixed == "false" && *text == "off";
    if (*text == self.rule.fixed || off) return {};
    return refuse(in_quotes(*text) + " is not supported by this version", self.allowed);
  };
  key.check = [](const S& /*from*/, const Key<S>& /*self*/) -> Expected<void> { return {}; };
  key.write = [](const S& /*from*/, const Key<S>& self) { return std::string{self.rule.fixed}; };
  key.copy = [](S& /*to*/, const S& /*from*/) {};
  return key;
}

// --- what texts may look like

bool is_name(std::string_view text, std::size_t most, std::string_view marks) {
  return !text.empty() && text.size() <= most &&
         std::all_of(text.begin(), text.end(), [marks](char c) {
           const bool ascii = static_cast<unsigned char>(c) < 0x80;
           return (ascii && std::isalnum(static_cast<unsigned char>(c)) != 0) ||
                  marks.find(c) != std::string_view::npos;
         });
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
  });
}

std::string flaw_of_name(std::string_view text) {
  return is_name(text, 31, "_.-") ? "" : in_quotes(text) + " is not a name";
}

std::string flaw_of_instance(std::string_view text) {
  return is_name(text, 32, "_-") ? "" : in_quotes(text) + " is not an instance name";
}

std::string flaw_of_device(std::string_view text) {
  const auto kind = parse_device(text);
  return kind ? "" : refusal_of(kind.error()).what;
}

std::string flaw_of_directory(std::string_view text) {
  const bool good = text.size() <= 4000 && text.substr(0, 1) == "/" && !has_control(text);
  return good ? "" : in_quotes(text) + " is not an absolute path";
}

std::string flaw_of_filter(std::string_view text) {
  if (has_control(text)) return in_quotes(text) + " has control characters";
  return text.size() <= 65535 ? "" : "the filter is longer than 65535 characters";
}

std::string flaw_of_no_name(std::string_view text) {
  return text.empty() ? "" : flaw_of_name(text);
}

template <std::size_t kBytes>
std::string flaw_of_address(std::string_view text) {
  std::array<std::uint8_t, kBytes> address{};
  const std::string flaw = text.empty() ? "" : read_host_address(text, address);
  return flaw.empty() ? "" : in_quotes(text) + " " + flaw;
}

constexpr std::string_view kNameForm = "1..31 of the characters a-z A-Z 0-9 _ . -";
constexpr Rule kNameRule{.form = kNameForm, .flaw = flaw_of_name};

}  // namespace

template <>
const std::vector<Key<Config>>& keys<Config>() {
  static const std::vector<Key<Config>> table = {
      row<&Config::instance>(
          "instance", {.form = "1..32 of the characters a-z A-Z 0-9 _ -", .flaw = flaw_of_instance},
          {"Names the control socket and the EAL file prefix."}),
      row<&Config::lcores>(
          "lcores", {.max = 65535, .word = "auto", .form = "at most 127 CPUs such as 0,2-3"},
          {"The CPUs to run on; every one receives and works. auto: those of the affinity mask."}),
      row<&Config::idle>("idle", {},
                         {"What an lcore does without packets. poll: spin; adaptive: pause, then "
                          "sleep for short.",
                          true}),
      row<&Config::idle_max_sleep_us>(
          "idle_max_sleep_us", {.min = 1, .max = 200, .unit = "us"},
          {"The longest sleep of idle: adaptive; the first packet after idle waits as long.",
           true}),
      row<&Config::hugepages>("hugepages", {},
                              {"auto: where the machine has them; off: ordinary memory."}),
  };
  return table;
}

template <>
const std::vector<Key<PortConfig>>& keys<PortConfig>() {
  static const std::vector<Key<PortConfig>> table = {
      row<&PortConfig::name>("name", kNameRule,
                             {"What bridges and all output call it.", false, true}),
      row<&PortConfig::device>(
          "device",
          {.form = "a PCI address such as 0000:00:14.0, a kernel interface of at most 15 "
                   "characters, or a DPDK vdev such as net_null0",
           .flaw = flaw_of_device},
          {"What it is. A kernel interface stays with the kernel: no kernel bypass.", false, true}),
      row<&PortConfig::rx_queues>(
          "rx_queues", {.min = 1, .max = 128, .word = "auto"},
          {"RX queues. auto: one an lcore, as far as the device has them."}),
      row<&PortConfig::rx_descriptors>("rx_descriptors", {.min = 32, .max = 4096, .multiple_of = 8},
                                       {"Length of each RX ring."}),
      row<&PortConfig::mtu>("mtu", {.min = 68, .max = 9600, .word = "auto", .unit = "bytes"},
                            {"Largest layer 3 packet. auto: what the device has."}),
      row<&PortConfig::offloads>(
          "offloads", {},
          {"Offloads of a kernel interface that would alter packets. check: refuse to start with "
           "them; fix: switch them off and on again at stop; ignore: leave them."}),
  };
  return table;
}

template <>
const std::vector<Key<BridgeConfig>>& keys<BridgeConfig>() {
  static const std::vector<Key<BridgeConfig>> table = {
      row<&BridgeConfig::name>("name", kNameRule, {"What all output calls it.", false, true}),
      fixed_row<BridgeConfig>("mode", "wire", "wire: two ports, no address learning."),
      row<&BridgeConfig::ports>(
          "ports", {.form = "the names of two ports, [left, right]", .flaw = flaw_of_name},
          {"The two ports it joins.", false, true}),
      fixed_row<BridgeConfig>("forward_reserved", "all",
                              "Frames to the reserved addresses 01-80-c2-00-00-0x (STP, LACP, "
                              "LLDP): all are forwarded, as by a cable."),
      fixed_row<BridgeConfig>("link_propagation", "false",
                              "Take one port's link down with the other's. Later versions can, "
                              "and true will then be the default; this one has false alone and "
                              "refuses true."),
  };
  return table;
}

template <>
const std::vector<Key<SteeringConfig>>& keys<SteeringConfig>() {
  using S = SteeringConfig;
  static const std::vector<Key<S>> table = {
      row<&S::mode>(
          "mode", {},
          {"none: each lcore handles what it receives; rps: by software hash; soft-rss: "
           "by a NIC's hash and indirection table, in software; rfs: to the worker where the flow "
           "is consumed.",
           true}),
      row<&S::workers>(
          "workers", {.max = 127, .word = "all", .form = "worker numbers such as 0,2-3"},
          {"The workers that get flows, counted from 0 in the order of lcores.", true}),
      row<&S::weights>("weights",
                       {.min = 1,
                        .max = 1000,
                        .word = "equal",
                        .form = "a weight 1..1000 for each worker such as 3,1"},
                       {"Shares of the workers, in the order of workers.", true}),
      fixed_row<S>("hash", "software", "Who computes the hash of a flow."),
      row<&S::symmetric>("symmetric", {}, {"Both directions of a flow go to one worker.", true}),
      row<&S::tunnels>(
          "tunnels", {},
          {"Steer GRE, IPIP, VXLAN, Geneve and GTP-U by what is inside or outside.", true}),
      row<&S::fragments>("fragments", {},
                         {"key: the fragments of a datagram go by its addresses and protocol; "
                          "track: with the other packets of their flow.",
                          true}),
      row<&S::rss_buckets>("rss_buckets",
                           {.min = 2, .max = 65536, .power_of_two = true, .unit = "buckets"},
                           {"Size of soft-rss's indirection table.", true}),
      row<&S::rss_bits>("rss_bits", {},
                        {"Bits of the hash that soft-rss takes. hardware: the low ones; above_nic: "
                         "those above the NIC's own; auto: hardware with one RX queue.",
                         true}),
      row<&S::balance>("balance", {.on_off = true},
                       {"Under soft-rss, move buckets from busy workers to others.", true}),
      row<&S::rfs_flows>("rfs_flows", {.min = 1024, .max = 16777216, .unit = "flows"},
                         {"Flows that mode rfs remembers; 16 bytes each, and 32 more at each "
                          "receiving lcore."}),
      row<&S::tx_guard>("tx_guard", {.on_off = true},
                        {"A flow moves to another worker only when its packets have left the old "
                         "one's TX queue, so that two TX queues cannot reorder it.",
                         true}),
      row<&S::order_check>("order_check", {.on_off = true},
                           {"Verify the order of every flow at TX and count what is out of order; "
                            "for tests, it costs tens of cycles a packet.",
                            true}),
      row<&S::backlog_slots>(
          "backlog_slots",
          {.min = 128, .max = 32768, .power_of_two = true, .word = "auto", .unit = "packets"},
          {"Length of each backlog. auto: what the link brings in 2 ms, 1024..32768. Below 1024 is "
           "for tests of full backlogs; 128, two bursts, is the least that works."}),
      row<&S::backlog_budget>(
          "backlog_budget", {.min = 64, .max = 1048576, .unit = "packets"},
          {"Packets that one receiving lcore may have in flight over all workers."}),
      row<&S::flow_limit>("flow_limit", {.on_off = true},
                          {"Drop an elephant's packets first once a backlog is half full.", true}),
  };
  return table;
}

template <>
const std::vector<Key<RrConfig>>& keys<RrConfig>() {
  using S = RrConfig;
  static const std::vector<Key<S>> table = {
      row<&S::port>("port", {.form = "the name of a port, \"\" for none", .flaw = flaw_of_no_name},
                    {"The port that answers; it is in no bridge."}),
      row<&S::ipv4>("ipv4", {.form = "an IPv4 address, \"\" for none", .flaw = flaw_of_address<4>},
                    {"The address it answers for: ARP, ICMP echo, TCP."}),
      row<&S::ipv6>("ipv6", {.form = "an IPv6 address, \"\" for none", .flaw = flaw_of_address<16>},
                    {"The same for IPv6: neighbour solicitations, ICMPv6 echo, TCP."}),
      row<&S::tcp_port>("tcp_port", {.min = 1, .max = 65535}, {"The TCP port that echoes."}),
      row<&S::connections>("connections", {.min = 16, .max = 4194304, .unit = "connections"},
                           {"The most connections that one worker can have."}),
      row<&S::work_ns>("work_ns", {.max = 1000000, .unit = "ns"},
                       {"Extra work for each request, for measuring."}),
  };
  return table;
}

template <>
const std::vector<Key<CaptureConfig>>& keys<CaptureConfig>() {
  using S = CaptureConfig;
  static const std::vector<Key<S>> table = {
      fixed_row<S>("enabled", "false", "Write what is received to files."),
      row<&S::directory>("directory", {.form = "an absolute path", .flaw = flaw_of_directory},
                         {"Where the files go."}),
      row<&S::format>("format", {}, {"The files' format."}),
      row<&S::snaplen_bytes>("snaplen_bytes", {.min = 16, .max = 262144, .unit = "bytes"},
                             {"The most that is kept of a packet."}),
      row<&S::filter>(
          "filter",
          {.form = "a filter of libpcap on one line, \"\" for everything", .flaw = flaw_of_filter},
          {"Which packets are kept."}),
      row<&S::vlan_aware>("vlan_aware", {}, {"The filter looks behind VLAN tags."}),
      row<&S::block_bytes>("block_bytes",
                           {.min = 65536, .max = 67108864, .power_of_two = true, .unit = "bytes"},
                           {"Size of a block, the unit of writing."}),
      row<&S::blocks>("blocks", {.min = 2, .max = 1024, .unit = "blocks"},
                      {"Blocks per RX queue between receiver and writer."}),
      row<&S::rotate_bytes>("rotate_bytes", {.max = std::uint64_t{1} << 50U, .unit = "bytes"},
                            {"Begin a new file at this size; 0: never."}),
      row<&S::rotate_seconds>("rotate_seconds", {.max = 31536000, .unit = "seconds"},
                              {"Begin a new file after this time; 0: never."}),
      row<&S::files>("files", {.max = 1000000, .unit = "files"},
                     {"Files kept per RX queue, the oldest is removed; 0: all."}),
  };
  return table;
}

}  // namespace mqsteer::schema
