#include "control/command_table.h"

#include "config/words.h"

#include <algorithm>
#include <array>

namespace mqsteer {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 2> kOnOff = {"on", "off"};
constexpr std::array<std::string_view, 1> kAll = {"all"};
constexpr std::array<std::string_view, 1> kEqual = {"equal"};

constexpr std::array kSteeringKeys = {
    KeySpec{"mode", "none|rps|soft-rss|rfs", "how a flow finds its worker",
            EnumWords<SteeringMode>::kWords},
    KeySpec{"workers", "all|0,2-3", "the workers that get flows", kAll},
    KeySpec{"weights", "equal|3,1", "their shares, one a worker, 1..1000", kEqual},
    KeySpec{"symmetric", "on|off", "both directions of a flow on one worker", kOnOff},
    KeySpec{"tunnels", "inner|outer", "steer tunnels by what is inside or outside",
            EnumWords<TunnelKey>::kWords},
    KeySpec{"fragments", "key|track", "by their addresses, or with their flow",
            EnumWords<Fragments>::kWords},
    KeySpec{"rss_buckets", "N", "size of soft-rss's indirection table, a power of two, 2..65536"},
    KeySpec{"rss_bits", "auto|hardware|above_nic", "which hash bits soft-rss takes",
            EnumWords<RssBits>::kWords},
    KeySpec{"balance", "on|off", "under soft-rss, move buckets from busy workers", kOnOff},
    KeySpec{"tx_guard", "on|off", "a flow moves when it has left the old worker's TX queue",
            kOnOff},
    KeySpec{"order_check", "on|off", "verify the order of every flow at TX", kOnOff},
    KeySpec{"flow_limit", "on|off", "drop an elephant's packets first", kOnOff},
};
constexpr std::array<std::string_view, 5> kProtocols = {"tcp", "udp", "udplite", "sctp", "dccp"};
constexpr std::array kFlowWords = {
    KeySpec{"protocol", "PROTOCOL", "tcp, udp, udplite, sctp or dccp", kProtocols},
    KeySpec{"from", "FROM", "one end: A.B.C.D:PORT or [IPV6]:PORT"},
    KeySpec{"to", "TO", "the other end"},
};
constexpr std::array kPinKeys = {
    KeySpec{"worker", "N", "the worker; default: where the flow is wanted now"}};
constexpr std::array kWorkerKeys = {KeySpec{"worker", "N", "its number, as in worker show"}};
constexpr std::array kTopKeys = {
    KeySpec{"interval_ms", "N", "from one table to the next, 100..60000; default 1000"},
    KeySpec{"count", "N", "tables until the end, 1..1000000000; default: until interrupted"},
};

constexpr std::array kTable = {
    CommandSpec{CommandId::kConfigDiff, "config", "diff",
                "what the running configuration and its file differ in"},
    CommandSpec{CommandId::kConfigShow, "config", "show",
                "the running configuration, in the file's format"},
    CommandSpec{CommandId::kFlowExplain,
                "flow",
                "explain",
                "where a flow goes, and why, by the data path's own functions",
                {},
                KeysNeeded::kNone,
                false,
                kFlowWords},
    CommandSpec{CommandId::kFlowPin, "flow", "pin",
                "under rfs, send a flow to a worker whatever its consumer says", kPinKeys,
                KeysNeeded::kNone, false, kFlowWords},
    CommandSpec{CommandId::kFlowShow, "flow", "show", "the pinned flows, and rfs's table of flows"},
    CommandSpec{CommandId::kFlowUnpin,
                "flow",
                "unpin",
                "take a flow's pin away: under rfs it follows its consumer again",
                {},
                KeysNeeded::kNone,
                false,
                kFlowWords},
    CommandSpec{CommandId::kPing, "ping", "", "whether the daemon answers, and how fast"},
    CommandSpec{CommandId::kPlanShow, "plan", "show",
                "which lcore does what, and what memory and delay that costs"},
    CommandSpec{CommandId::kPortShow, "port", "show", "what the ports are, their links, counters"},
    CommandSpec{CommandId::kQueueShow, "queue", "show", "RX queues, their lcores and counters"},
    CommandSpec{CommandId::kStatsShow, "stats", "show", "all counters, and the accounts"},
    CommandSpec{CommandId::kSteeringSet, "steering", "set",
                "change steering while traffic flows; nothing is lost or reordered, but an rr box "
                "resets its connections where mode, symmetric or tunnels change the hash",
                kSteeringKeys, KeysNeeded::kOne},
    CommandSpec{CommandId::kSteeringShow, "steering", "show",
                "mode, hash, and the share of every worker"},
    CommandSpec{CommandId::kTop, "top", "", "a table of rates that refreshes itself", kTopKeys,
                KeysNeeded::kNone, true},
    CommandSpec{CommandId::kVersion, "version", "", "the daemon's version and how long it runs"},
    CommandSpec{CommandId::kWorkerAbandon, "worker", "abandon",
                "give up a stalled worker: its flows go to the others at once", kWorkerKeys,
                KeysNeeded::kAll},
    CommandSpec{CommandId::kWorkerRestore, "worker", "restore", "take an abandoned worker in again",
                kWorkerKeys, KeysNeeded::kAll},
    CommandSpec{CommandId::kWorkerShow, "worker", "show",
                "workers: packets, backlog, moves, drops, how busy since the start"},
};
static_assert(kTable.size() == static_cast<std::size_t>(CommandId::kCount));
static_assert(std::is_sorted(kTable.begin(), kTable.end(), [](const auto& a, const auto& b) {
  return a.object != b.object ? a.object < b.object : a.command < b.command;
}));

std::vector<std::string_view> key_words(const CommandSpec& spec) {
  std::vector<std::string_view> words;
  for (const KeySpec& word : spec.words) words.push_back(word.name);
  for (const KeySpec& key : spec.keys) words.push_back(key.name);
  return words;
}

}  // namespace

std::string CommandSpec::name() const {
  std::string text{object};
  return command.empty() ? text : text.append(" ").append(command);
}

std::span<const CommandSpec> command_table() noexcept {
  return kTable;
}

const CommandSpec& spec_of(CommandId id) noexcept {
  return *std::ranges::find(kTable, id, &CommandSpec::id);
}

std::vector<std::string_view> object_words() {
  std::vector<std::string_view> words;
  for (const CommandSpec& spec : kTable) {
    if (words.empty() || words.back() != spec.object) words.push_back(spec.object);
  }
  return words;
}

std::vector<std::string_view> command_words(std::string_view object) {
  std::vector<std::string_view> words;
  for (const CommandSpec& spec : kTable) {
    if (spec.object == object && !spec.command.empty()) words.push_back(spec.command);
  }
  return words;
}

Error unknown_word(std::string_view text, std::string_view what, Words words) {
  std::string message = in_quotes(text);
  message.append(" is not ").append(what);
  const std::string_view nearest = nearest_word(text, words);
  if (!nearest.empty()) message.append(", perhaps ").append(nearest);
  return Error{0, message.append("; allowed: ") + join(words)};
}

Expected<const CommandSpec*> find_command(std::string_view object, std::string_view command) {
  for (const CommandSpec& spec : kTable) {
    if (spec.object == object && spec.command == command) return &spec;
  }
  const auto objects = object_words();
  const auto commands = command_words(object);
  if (std::ranges::find(objects, object) == objects.end()) {
    if (object.empty()) return fail("an object is missing; allowed: " + join(objects));
    return tl::unexpected(unknown_word(object, "an object", objects));
  }
  const std::string of{object};
  if (commands.empty()) return fail(of + " takes no command, but there is " + in_quotes(command));
  if (command.empty()) return fail(of + ": a command is missing; allowed: " + join(commands));
  return tl::unexpected(unknown_word(command, "a command of " + of, commands));
}

std::string forms_of(const CommandSpec& spec) {
  std::string text;
  for (const KeySpec& word : spec.words) {
    text.append(text.empty() ? "" : " ").append(word.value);
  }
  for (const KeySpec& key : spec.keys) {
    if (!text.empty()) text += ' ';
    text.append(key.name).append("=").append(key.value);
  }
  return text;
}

Expected<void> check_keys(const CommandSpec& spec, const KeyValues& keys) {
  const auto words = key_words(spec);
  for (const auto& [key, value] : keys) {
    if (std::ranges::find(words, key) != words.end()) continue;
    if (words.empty()) return fail(spec.name() + " takes no keys, but there is " + in_quotes(key));
    return tl::unexpected(unknown_word(key, "a key of " + spec.name(), words));
  }
  for (const KeySpec& word : spec.words) {
    if (keys.contains(word.name)) continue;
    return fail(spec.name() + ": " + std::string{word.value} +
                " is missing; allowed: " + forms_of(spec));
  }
  if (spec.needed == KeysNeeded::kOne && keys.empty()) {
    return fail(spec.name() + " needs one key at least; allowed: " + forms_of(spec));
  }
  if (spec.needed == KeysNeeded::kAll && keys.size() < words.size()) {
    return fail(spec.name() + ": a key is missing; allowed: " + forms_of(spec));
  }
  return {};
}

}  // namespace mqsteer
