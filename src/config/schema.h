#pragma once

#include <mqsteer/config.h>
#include <mqsteer/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mqsteer::schema {

/// What stands at a key, before its type is known.
struct Value {
  std::string text;
  bool quoted = false;             ///< in quotes: never a number or a switch
  bool list = false;               ///< `[a, b]`: the items instead of text
  std::vector<std::string> items;  ///< of a list
};

/// What a key takes. Which fields count depends on the type of the member it fills.
struct Rule {
  std::uint64_t min = 0;
  std::uint64_t max = UINT64_MAX;
  std::uint64_t multiple_of = 1;
  bool power_of_two = false;
  bool on_off = false;          ///< a switch that is written on and off, not true and false
  std::string_view word = {};   ///< stands for "not set": auto, all, equal
  std::string_view fixed = {};  ///< the only value that this version supports
  std::string_view unit = {};
  std::string_view form = {};  ///< of texts and lists, in words
  /// of texts: what is wrong with it, empty when nothing is
  std::string (*flaw)(std::string_view) = nullptr;
};

struct Note {
  std::string_view help;  ///< for the comment in the file; one sentence or two
  bool live = false;      ///< can change while traffic flows
  bool required = false;
};

/// One row of the table: a key of the section that S holds. The default is what a fresh S has.
template <class S>
struct Key {
  std::string_view name;
  Rule rule;
  Note note;
  std::string allowed;  ///< made from the rule: the tail of every message about the key
  Expected<void> (*read)(S& into, const Key& key, const Value& value);
  Expected<void> (*check)(const S& from, const Key& key);
  std::string (*write)(const S& from, const Key& key);
  void (*copy)(S& to, const S& from);

  [[nodiscard]] std::string default_text() const { return write(S{}, *this); }
};

/// The keys of a section in the order of the file.
template <class S>
[[nodiscard]] const std::vector<Key<S>>& keys();

template <>
const std::vector<Key<Config>>& keys<Config>();
template <>
const std::vector<Key<PortConfig>>& keys<PortConfig>();
template <>
const std::vector<Key<BridgeConfig>>& keys<BridgeConfig>();
template <>
const std::vector<Key<SteeringConfig>>& keys<SteeringConfig>();
template <>
const std::vector<Key<RrConfig>>& keys<RrConfig>();
template <>
const std::vector<Key<CaptureConfig>>& keys<CaptureConfig>();

inline constexpr std::size_t kMaxPorts = 32;  // DPDK's RTE_MAX_ETHPORTS

/// A section of the file that has keys of its own.
struct Section {
  std::string_view name;
  std::string_view help;
  bool is_list;
};
inline constexpr Section kPorts{"ports", "The ports, 1..32.", true};
inline constexpr Section kBridge{
    "bridge",
    "Pairs of ports: what comes in at one goes out at the other. A port of no bridge is received, "
    "steered and consumed (sink).",
    true};
inline constexpr Section kSteering{"steering", "Which worker gets which flow.", false};
inline constexpr Section kRr{
    "rr",
    "A port at which mqsteer itself answers TCP: it echoes what clients send, to measure TCP_RR "
    "with. An endpoint for benchmarks, not a TCP stack.",
    false};
inline constexpr Section kCapture{
    "capture", "Capture files, one sequence per RX queue. Not enabled in this version.", false};

/// visit(path, key, section) for every key of a configuration (const or not), in file order.
template <class C, class Visit>
void for_each_key(C& config, Visit&& visit) {
  const auto section = [&visit](const std::string& prefix, auto& values) {
    using S = std::remove_cvref_t<decltype(values)>;
    for (const Key<S>& key : keys<S>()) visit(prefix + std::string{key.name}, key, values);
  };
  section("", config);
  for (std::size_t i = 0; i < config.ports.size(); ++i) {
    section("ports[" + std::to_string(i) + "].", config.ports[i]);
  }
  for (std::size_t i = 0; i < config.bridges.size(); ++i) {
    section("bridge[" + std::to_string(i) + "].", config.bridges[i]);
  }
  section("steering.", config.steering);
  section("rr.", config.rr);
  section("capture.", config.capture);
}

}  // namespace mqsteer::schema
