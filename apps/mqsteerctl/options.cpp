#include "options.h"

#include "config/words.h"
#include "control/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

namespace mqsteer {
namespace {

constexpr std::string_view kUsage = "Usage: mqsteerctl [OPTIONS] OBJECT COMMAND [KEY=VALUE...]\n";
constexpr std::string_view kOptionsHelp =
    "  -i, --instance NAME  the instance to talk to, mqsteer by default\n"
    "  --socket PATH        its control socket, in place of /run/mqsteer/NAME/control.sock\n"
    "  -j, --json           JSON on one line, errors too\n"
    "  -p, --pretty         JSON over several lines\n"
    "  --color WHEN         auto (on a terminal, by default), always or never\n"
    "  --completion SHELL   print a completion script for bash or zsh\n"
    "  -V, --version        print the version\n"
    "  -h, --help           print this; after an object: its commands alone\n";
constexpr std::string_view kExitHelp =
    "Exit: 0 done, 1 wrong usage, 2 refused, or the daemon cannot be reached.\n";

std::string help_text(std::string_view object) {
  std::string text{kUsage};
  text += object.empty() ? "\nAsks and steers a running mqsteerd.\n\nCommands:\n" : "\n";
  text += commands_help(object);
  if (object.empty())
    text.append("\nOptions:\n").append(kOptionsHelp).append("\n").append(kExitHelp);
  return text;
}

struct Raw {
  std::string instance = "mqsteer";
  std::string socket;
  bool json = false;
  bool pretty = false;
  bool help = false;
  bool version = false;
  std::string colour = "auto";
  std::string completion;
  std::vector<std::string> words;
};

Expected<Raw> parse_raw(int argc, char** argv) {
  Raw raw;
  CLI::App app;
  app.set_help_flag();
  app.add_option("-i,--instance", raw.instance)->take_last();
  app.add_option("--socket", raw.socket)->take_last();
  app.add_flag("-j,--json", raw.json);
  app.add_flag("-p,--pretty", raw.pretty);
  app.add_flag("-h,--help", raw.help);
  app.add_flag("-V,--version", raw.version);
  app.add_option("--color", raw.colour)->take_last();
  app.add_option("--completion", raw.completion)->take_last();
  app.allow_extras();  // as a positional option "[fd00::1]" would be a list and lose its brackets
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return fail(std::string{error.what()} + "; mqsteerctl -h shows what there is");
  }
  raw.words = app.remaining();
  for (const std::string& word : raw.words) {
    if (!word.starts_with('-')) continue;
    return fail(in_quotes(word) + " is not an option; mqsteerctl -h shows what there is");
  }
  return raw;
}

Expected<ColourChoice> parse_colour(const std::string& text) {
  constexpr std::array<std::string_view, 3> kWords = {"auto", "always", "never"};
  const auto at = std::ranges::find(kWords, text);
  if (at == kWords.end()) {
    return tl::unexpected(unknown_word(text, "a choice of --color", kWords));
  }
  return static_cast<ColourChoice>(at - kWords.begin());
}

/// An instance names a folder, so it must not lead out of it.
Expected<void> check_instance(const std::string& name) {
  const bool good = !name.empty() && name.size() <= 32 &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '_' || c == '-';
                    });
  if (good) return {};
  return fail("--instance: " + in_quotes(name) +
              " is not an instance name; allowed: 1..32 of the characters a-z A-Z 0-9 _ -");
}

Expected<KeyValues> parse_keys(const CommandSpec& spec, const std::vector<std::string>& words,
                               std::size_t first) {
  KeyValues keys;
  for (const KeySpec& word : spec.words) {  // which may as well be given as keys
    if (first == words.size() || words[first].find('=') != std::string::npos) break;
    keys.emplace(word.name, words[first++]);
  }
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == std::string::npos || equals == 0) {
      std::string names;
      for (const KeySpec& key : spec.keys) {
        names.append(names.empty() ? "" : ", ").append(key.name).append("=");
      }
      if (names.empty() && !spec.words.empty()) {
        return fail(spec.name() + ": " + in_quotes(words[i]) +
                    " is one word too many; allowed: " + forms_of(spec));
      }
      if (names.empty()) {
        return fail(spec.name() + " takes no keys, but there is " + in_quotes(words[i]));
      }
      return fail(spec.name() + ": " + in_quotes(words[i]) +
                  " is not key=value; allowed: " + names);
    }
    const std::string key = words[i].substr(0, equals);
    if (!keys.emplace(key, words[i].substr(equals + 1)).second) {
      return fail(spec.name() + ": " + in_quotes(key) + " is given twice");
    }
  }
  if (auto checked = check_keys(spec, keys); !checked) return tl::unexpected(checked.error());
  return keys;
}

}  // namespace

Expected<std::variant<Invocation, Notice>> parse_options(int argc, char** argv) {
  const auto raw = parse_raw(argc, argv);
  if (!raw) return tl::unexpected(raw.error());
  if (raw->version) return Notice{"mqsteerctl " MQSTEER_VERSION "\n"};
  const std::string object = raw->words.empty() ? "" : raw->words[0];
  if (raw->help) {
    const auto objects = object_words();
    if (!object.empty() && std::ranges::find(objects, object) == objects.end()) {
      return tl::unexpected(unknown_word(object, "an object", objects));
    }
    return Notice{help_text(object)};
  }
  if (!raw->completion.empty()) {
    auto script = completion_script(raw->completion);
    if (!script) return tl::unexpected(script.error());
    return Notice{std::move(*script)};
  }
  const auto colour = parse_colour(raw->colour);
  if (!colour) return tl::unexpected(colour.error());
  if (auto good = check_instance(raw->instance); !good) return tl::unexpected(good.error());

  // An object that is a command by itself has its keys in the second place.
  const bool alone = !object.empty() && command_words(object).empty();
  const std::string word = !alone && raw->words.size() > 1 ? raw->words[1] : "";
  const auto spec = find_command(object, word);
  if (!spec) return tl::unexpected(spec.error());
  auto keys = parse_keys(**spec, raw->words, alone ? 1 : 2);
  if (!keys) return tl::unexpected(keys.error());
  return Invocation{.client = {.instance = raw->instance, .socket_path = raw->socket},
                    .format = format_of(argc, argv),
                    .colour = *colour,
                    .command = *spec,
                    .keys = std::move(*keys)};
}

Format format_of(int argc, char** argv) {
  Format format = Format::kText;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool letters = word.size() > 1 && word[0] == '-' && word[1] != '-';
    const auto has = [&](char letter) { return letters && word.find(letter) != word.npos; };
    if (word == "--pretty" || has('p')) return Format::kPrettyJson;
    if (word == "--json" || has('j')) format = Format::kJson;
  }
  return format;
}

}  // namespace mqsteer
