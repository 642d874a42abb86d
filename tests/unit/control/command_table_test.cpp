#include "control/command_table.h"

#include "control/help.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <memory>

namespace mqsteer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string fault_of(std::string_view object, std::string_view command) {
  const auto found = find_command(object, command);
  return found ? "" : found.error().text();
}

std::string key_fault(CommandId id, const KeyValues& keys) {
  const auto checked = check_keys(spec_of(id), keys);
  return checked ? "" : checked.error().text();
}

TEST(CommandTable, FindsEveryCommandByItsWords) {
  for (const CommandSpec& spec : command_table()) {
    const auto found = find_command(spec.object, spec.command);
    ASSERT_TRUE(found) << spec.name();
    EXPECT_EQ((*found)->id, spec.id);
    EXPECT_EQ(spec_of(spec.id).name(), spec.name());
  }
}

TEST(CommandTable, AnswersAnUnknownWordWithWhatWasExpectedThere) {
  EXPECT_EQ(
      fault_of("prot", "show"),
      "'prot' is not an object, perhaps port; allowed: config, flow, ping, plan, port, queue, "
      "stats, steering, top, version, worker");
  EXPECT_EQ(fault_of("steering", "sett"),
            "'sett' is not a command of steering, perhaps set; allowed: set, show");
  EXPECT_EQ(fault_of("worker", ""),
            "worker: a command is missing; allowed: abandon, restore, show");
  EXPECT_EQ(fault_of("ping", "me"), "ping takes no command, but there is 'me'");
  EXPECT_THAT(fault_of("", ""), HasSubstr("an object is missing; allowed: config, "));
}

TEST(CommandTable, HoldsKeysAgainstTheirCommand) {
  EXPECT_EQ(key_fault(CommandId::kSteeringSet, {{"mod", "rps"}}),
            "'mod' is not a key of steering set, perhaps mode; allowed: mode, workers, weights, "
            "symmetric, tunnels, fragments, rss_buckets, rss_bits, balance, tx_guard, order_check, "
            "flow_limit");
  EXPECT_EQ(key_fault(CommandId::kWorkerAbandon, {}),
            "worker abandon: a key is missing; allowed: worker=N");
  EXPECT_EQ(key_fault(CommandId::kPortShow, {{"name", "left"}}),
            "port show takes no keys, but there is 'name'");
  EXPECT_THAT(key_fault(CommandId::kSteeringSet, {}), HasSubstr("needs one key at least"));
  EXPECT_THAT(key_fault(CommandId::kSteeringSet, {{"mode", "rps"}}), IsEmpty());
}

TEST(CommandHelp, ListsEveryCommandAndKey) {
  const std::string help = commands_help("");
  for (const CommandSpec& spec : command_table()) {
    EXPECT_THAT(help, HasSubstr("  " + spec.name() + "  "));
    for (const KeySpec& key : spec.keys) EXPECT_THAT(help, HasSubstr(std::string{key.help}));
    for (const KeySpec& word : spec.words) EXPECT_THAT(help, HasSubstr(std::string{word.help}));
  }
  EXPECT_EQ(commands_help("plan"),
            "  plan show         which lcore does what, and what memory and delay that costs\n");
}

/// What bash offers for a command line cut at its word breaks; the last word is under the cursor.
std::string completed(const std::string& words, int cursor) {
  const std::string script = *completion_script("bash") + "COMP_WORDS=(" + words +
                             ")\nCOMP_CWORD=" + std::to_string(cursor) +
                             "\n_mqsteerctl 2>/dev/null\necho -n \"${COMPREPLY[*]}\"\n";
  const std::string command = "bash -c '" + [&] {
    std::string escaped;
    for (const char c : script) escaped += c == '\'' ? std::string{"'\\''"} : std::string{c};
    return escaped;
  }() + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> out{popen(command.c_str(), "r"), pclose};
  std::string text(4096, '\0');
  text.resize(fread(text.data(), 1, text.size(), out.get()));
  return text;
}

TEST(CommandTable, AFlowsWordsAreAllNeeded) {
  EXPECT_EQ(key_fault(CommandId::kFlowPin, {{"protocol", "tcp"}, {"from", "10.0.0.1:1"}}),
            "flow pin: TO is missing; allowed: PROTOCOL FROM TO worker=N");
  EXPECT_EQ(key_fault(CommandId::kFlowPin,
                      {{"protocol", "tcp"}, {"from", "10.0.0.1:1"}, {"to", "10.0.0.2:2"}}),
            "");
}

TEST(Completion, OffersTheWordsOfTheTable) {
  EXPECT_EQ(completed("mqsteerctl ''", 1),
            "config flow ping plan port queue stats steering top version worker");
  EXPECT_EQ(completed("mqsteerctl st", 1), "stats steering");
  EXPECT_EQ(completed("mqsteerctl -i box worker ''", 4), "abandon restore show");
  EXPECT_EQ(completed("mqsteerctl steering set rss_", 3),
            "rss_buckets= rss_bits= rss_bits=auto "
            "rss_bits=hardware rss_bits=above_nic");
  EXPECT_EQ(completed("mqsteerctl steering set mode =", 4), " none rps soft-rss rfs");
  EXPECT_EQ(completed("mqsteerctl steering set mode = r", 5), "rps rfs");
  EXPECT_EQ(completed("mqsteerctl steering set fragments =", 4), " key track");
  EXPECT_EQ(completed("mqsteerctl steering set order_check = o", 5), "on off");
  EXPECT_EQ(completed("mqsteerctl flow ''", 2), "explain pin show unpin");
  EXPECT_EQ(completed("mqsteerctl flow explain u", 3), "udp udplite");
  EXPECT_EQ(completed("mqsteerctl flow pin tcp 10.0.0.1:1 10.0.0.2:2 w", 6), "worker=");
  EXPECT_EQ(completed("mqsteerctl top co", 2), "count=");
}

TEST(Completion, KnowsItsShells) {
  EXPECT_THAT(*completion_script("zsh"), HasSubstr("bashcompinit"));
  EXPECT_EQ(completion_script("fish").error().text(),
            "no completion for this shell; allowed: bash, zsh");
}

}  // namespace
}  // namespace mqsteer
