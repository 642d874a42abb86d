#include "config/config_file.h"
#include "config/schema.h"

#include <sstream>
#include <string>

namespace mqsteer {
namespace {

using schema::Key;
using schema::Section;

constexpr std::size_t kColumns = 100;

class Writer {
 public:
  explicit Writer(bool comments) : comments_{comments} {}

  [[nodiscard]] std::string take() { return std::move(text_); }

  void header() {
    if (!comments_) return;
    comment("",
            "The configuration of mqsteerd: every key with its default. A key that is left out "
            "has it too; only ports must be given. `mqsteerd --check --config FILE` checks.");
    comment("",
            "\"Live\" marks what a reload (SIGHUP) changes while traffic flows; the rest waits "
            "for a restart.");
    text_ += '\n';
  }

  template <class S>
  void section(const Section& about, const S& values) {
    begin(about);
    text_.append(about.name).append(":\n");
    keys("  ", values);
  }

  template <class S>
  void list(const Section& about, const std::vector<S>& items) {
    begin(about);
    text_.append(about.name).append(items.empty() ? ": []\n" : ":\n");
    for (const S& item : items) {
      // The comments once, at the first item; the dash takes two columns of its first key.
      const bool comments = std::exchange(comments_, comments_ && &item == &items.front());
      const std::size_t start = text_.size();
      keys("    ", item);
      text_[first_key(start) + 2] = '-';
      comments_ = comments;
    }
  }

  template <class S>
  void keys(const std::string& indent, const S& values) {
    for (const Key<S>& key : schema::keys<S>()) {
      if (comments_) about(indent, key);
      text_.append(indent).append(key.name).append(": ").append(key.write(values, key)) += '\n';
    }
  }

 private:
  template <class S>
  void about(const std::string& indent, const Key<S>& key) {
    comment(indent, std::string{key.note.help});
    std::string text = "Allowed: " + key.allowed;
    text += key.note.required ? ". Required" : ". Default: " + key.default_text();
    comment(indent, text += key.note.live ? ". Live." : ".");
  }

  void begin(const Section& about) {
    if (!comments_) return;
    text_ += '\n';
    comment("", std::string{about.help});
  }

  /// The first line from `start` on that is no comment.
  [[nodiscard]] std::size_t first_key(std::size_t start) const {
    while (text_[text_.find_first_not_of(' ', start)] == '#') start = text_.find('\n', start) + 1;
    return start;
  }

  void comment(const std::string& indent, const std::string& words) {
    std::istringstream in{words};
    std::string line = indent + "#";
    for (std::string word; in >> word;) {
      if (line.size() + 1 + word.size() > kColumns) {
        text_ += line + '\n';
        line = indent + "#";
      }
      line += ' ' + word;
    }
    text_ += line + '\n';
  }

  bool comments_;
  std::string text_;
};

std::string write(const Config& config, bool comments) {
  Writer writer{comments};
  writer.header();
  writer.keys("", config);
  writer.list(schema::kPorts, config.ports);
  writer.list(schema::kBridge, config.bridges);
  writer.section(schema::kSteering, config.steering);
  writer.section(schema::kRr, config.rr);
  writer.section(schema::kCapture, config.capture);
  return writer.take();
}

}  // namespace

std::string to_yaml(const Config& config) {
  return write(config, false);
}

std::string to_commented_yaml(const Config& config) {
  return write(config, true);
}

}  // namespace mqsteer
