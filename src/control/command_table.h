#pragma once

#include <mqsteer/error.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqsteer {

enum class CommandId : std::uint8_t {
  kFlowExplain,
  kFlowPin,
  kFlowUnpin,
  kFlowShow,
  kPortShow,
  kQueueShow,
  kWorkerShow,
  kWorkerAbandon,
  kWorkerRestore,
  kPlanShow,
  kConfigShow,
  kConfigDiff,
  kStatsShow,
  kSteeringShow,
  kSteeringSet,
  kTop,
  kVersion,
  kPing,
  kCount
};

/// One `key=value` of a command.
struct KeySpec {
  std::string_view name;
  std::string_view value;  ///< what stands behind the `=` in the help
  std::string_view help;
  std::span<const std::string_view> words = {};  ///< for completion; empty: not a list of words
};

/// Which of its keys a command needs.
enum class KeysNeeded : std::uint8_t { kNone, kOne, kAll };

/// One command. The table of them is what dispatch, answers to unknown words, help and shell
/// completion are made from; the handlers are held against it in commands.cpp.
struct CommandSpec {
  CommandId id;
  std::string_view object;
  std::string_view command;  ///< empty: the object alone is the command
  std::string_view help;
  std::span<const KeySpec> keys = {};
  KeysNeeded needed = KeysNeeded::kNone;
  bool in_client = false;  ///< made by mqsteerctl from other commands
  /// What stands before the keys without their names, all of it needed; in requests they are keys.
  std::span<const KeySpec> words = {};

  /// "steering set", "top"
  [[nodiscard]] std::string name() const;
};

/// Objects in the alphabet's order, the commands of one together.
[[nodiscard]] std::span<const CommandSpec> command_table() noexcept;
[[nodiscard]] const CommandSpec& spec_of(CommandId id) noexcept;

[[nodiscard]] std::vector<std::string_view> object_words();
/// Empty where the object is a command by itself, or unknown.
[[nodiscard]] std::vector<std::string_view> command_words(std::string_view object);

/// errors: `'prot' is not an object, perhaps port; allowed: config, …`
[[nodiscard]] Expected<const CommandSpec*> find_command(std::string_view object,
                                                        std::string_view command);

using KeyValues = std::map<std::string, std::string, std::less<>>;

/// What a command takes: "worker=N", "PROTOCOL FROM TO worker=N"
[[nodiscard]] std::string forms_of(const CommandSpec& spec);

/// Holds the names of keys against what the command takes and needs.
[[nodiscard]] Expected<void> check_keys(const CommandSpec& spec, const KeyValues& keys);

/// What is said to `text` where one of `words` was expected; `what`: "an object".
[[nodiscard]] Error unknown_word(std::string_view text, std::string_view what,
                                 std::span<const std::string_view> words);

}  // namespace mqsteer
