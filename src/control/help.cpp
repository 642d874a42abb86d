#include "control/help.h"

#include "control/command_table.h"

#include <algorithm>

namespace mqsteer {
namespace {

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

std::string key_words(const CommandSpec& spec, bool with_words) {
  std::string text;
  for (const KeySpec& word : spec.words) {
    for (const std::string_view choice : word.words) {
      text.append(text.empty() ? "" : " ").append(choice);
    }
  }
  for (const KeySpec& key : spec.keys) {
    text.append(text.empty() ? "" : " ").append(key.name).append("=");
    if (!with_words) continue;
    for (const std::string_view word : key.words) {
      text.append(" ").append(key.name).append("=").append(word);
    }
  }
  return text;
}

std::string words_of(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

/// One branch of the script's case over "OBJECT COMMAND": what may stand there next.
std::string branch(std::string_view pattern, const std::string& words) {
  std::string text = "    '";
  return text.append(pattern).append("') words='").append(words).append("' ;;\n");
}

}  // namespace

std::string commands_help(std::string_view object) {
  constexpr std::size_t kWidth = 18;
  std::string text;
  for (const CommandSpec& spec : command_table()) {
    if (!object.empty() && spec.object != object) continue;
    text += "  " + padded(spec.name(), kWidth) + std::string{spec.help} + '\n';
    for (const KeySpec& word : spec.words) {
      text += "    " + padded(std::string{word.value}, kWidth + 18) + std::string{word.help} + '\n';
    }
    for (const KeySpec& key : spec.keys) {
      std::string form{key.name};
      form.append("=").append(key.value);
      text += "    " + padded(form, kWidth + 18) + std::string{key.help} + '\n';
    }
  }
  return text;
}

Expected<std::string> completion_script(std::string_view shell) {
  if (shell != "bash" && shell != "zsh") {
    return fail("no completion for this shell; allowed: bash, zsh");
  }
  std::string cases;
  for (const std::string_view object : object_words()) {
    const auto commands = command_words(object);
    if (!commands.empty()) cases += branch(std::string{object} + ' ', words_of(commands));
  }
  for (const CommandSpec& spec : command_table()) {
    if (spec.keys.empty() && spec.words.empty()) continue;
    cases +=
        branch(std::string{spec.object} + ' ' + std::string{spec.command}, key_words(spec, true));
  }
  std::string script;
  if (shell == "zsh") script += "autoload -U +X bashcompinit && bashcompinit\n";
  // bash cuts words at '=': key=value comes as three.
  script +=
      "_mqsteerctl() {\n"
      "  local object='' command='' words='' key='' i current=${COMP_WORDS[COMP_CWORD]}\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    [ \"${COMP_WORDS[i + 1]-}\" = '=' ] && break\n"
      "    case ${COMP_WORDS[i]} in\n"
      "      -i|--instance|--socket|--color) i=$((i + 1)) ;;\n"
      "      -*|*=*) ;;\n"
      "      *) if [ -z \"$object\" ]; then object=${COMP_WORDS[i]}\n"
      "         elif [ -z \"$command\" ]; then command=${COMP_WORDS[i]}; fi ;;\n"
      "    esac\n"
      "  done\n"
      "  if [ \"$current\" = '=' ]; then key=${COMP_WORDS[COMP_CWORD - 1]}=; current=''\n"
      "  elif [ \"${COMP_WORDS[COMP_CWORD - 1]-}\" = '=' ]; then\n"
      "    key=${COMP_WORDS[COMP_CWORD - 2]}=\n"
      "  fi\n"
      "  case \"$object $command\" in\n" +
      branch(" ", words_of(object_words())) + cases +
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$key$current\"))\n"
      "  COMPREPLY=(\"${COMPREPLY[@]#\"$key\"}\")\n"
      "  case ${COMPREPLY[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac\n"
      "}\n"
      "complete -F _mqsteerctl mqsteerctl\n";
  return script;
}

}  // namespace mqsteer
