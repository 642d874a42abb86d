#include "config/yaml_tree.h"

#include "config/words.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace mqsteer {
namespace {

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxNodes = 10'000;

/// Thrown by the builder to leave yaml-cpp's parser, caught in parse_yaml().
class Unwanted : public std::runtime_error {
 public:
  Unwanted(int line, const std::string& what) : std::runtime_error{what}, line_{line} {}
  [[nodiscard]] int line() const noexcept { return line_; }

 private:
  int line_;
};

/// Builds the tree from yaml-cpp's events, so that no alias is ever expanded.
class TreeBuilder : public YAML::EventHandler {
 public:
  [[nodiscard]] YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      throw Unwanted{line_of(mark), "a second document; allowed: one document a file"};
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(mark, "", YamlNode::Kind::kNull);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    throw Unwanted{line_of(mark), "a YAML alias (*name); allowed: the value itself"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (wants_key()) {
      key_ = Key{value, line_of(mark)};
      return;
    }
    YamlNode& node = add(mark, "", YamlNode::Kind::kScalar);
    node.text = value;
    node.quoted = tag == "!";
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { path_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { path_.pop_back(); }

 private:
  struct Key {
    std::string name;
    int line;
  };

  static int line_of(const YAML::Mark& mark) { return mark.line + 1; }

  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) throw Unwanted{line_of(mark), "a YAML anchor (&name); allowed: plain values"};
  }
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Unwanted{line_of(mark), "a YAML tag (!name); allowed: plain values"};
  }

  [[nodiscard]] bool wants_key() const {
    return !path_.empty() && path_.back()->kind == YamlNode::Kind::kMap && !key_;
  }

  YamlNode& add(const YAML::Mark& mark, const std::string& tag, YamlNode::Kind kind) {
    refuse_tag(mark, tag);
    if (wants_key())
      throw Unwanted{line_of(mark),
                     "no key where one must be, or an open bracket; allowed: key: value"};
    if (++nodes_ > kMaxNodes)
      throw Unwanted{line_of(mark), "more than 10000 values; allowed: fewer"};
    YamlNode* node = &root_;
    if (!path_.empty()) node = &path_.back()->children.emplace_back();
    node->kind = kind;
    node->line = key_ ? key_->line : line_of(mark);
    if (key_) node->key = std::exchange(key_, std::nullopt)->name;
    return *node;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    refuse_anchor(mark, anchor);
    if (path_.size() == kMaxDepth)
      throw Unwanted{line_of(mark), "nested deeper than 16 levels; allowed: fewer"};
    // Only the last child of each open node grows, so the pointers in path_ stay good.
    path_.push_back(&add(mark, tag, kind));
  }

  YamlNode root_;
  std::vector<YamlNode*> path_;
  std::optional<Key> key_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

tl::unexpected<Error> fail_at(const std::string& file, int line, const std::string& what) {
  return fail(file + ':' + std::to_string(std::max(line, 1)) + ": " + what);
}

/// The length of the UTF-8 sequence at the start of `text`, or 0 if it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) > 0x9f;
  const bool too_high = first == 0xf4 && byte(1) > 0x8f;
  return overlong || surrogate || too_high ? 0 : length;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
}

/// What yaml-cpp would guess at (encodings) or report in other words (tabs).
Expected<void> check_text(std::string_view text, const std::string& file) {
  int line = 1;
  bool indentation = true;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0 || is_control(c)) {
      return fail_at(file, line,
                     "the byte " + printable(text.substr(0, 1)) +
                         " is no text; allowed: a YAML file in UTF-8");
    }
    if (c == '\t' && indentation) {
      return fail_at(file, line, "a tab in the indentation; allowed: spaces");
    }
    indentation = c == '\n' || (indentation && c == ' ');
    if (c == '\n') ++line;
    text.remove_prefix(length);
  }
  return {};
}

}  // namespace

Expected<YamlNode> parse_yaml(std::string_view text, const std::string& file) {
  if (auto checked = check_text(text, file); !checked) return tl::unexpected(checked.error());
  TreeBuilder builder;
  try {
    std::istringstream in{std::string{text}};
    YAML::Parser parser{in};
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Unwanted& unwanted) {
    return fail_at(file, unwanted.line(), unwanted.what());
  } catch (const YAML::Exception& error) {
    return fail_at(file, error.mark.line + 1, "this is not YAML: " + error.msg);
  } catch (const std::exception& error) {
    return fail_at(file, 1, std::string{"this is not YAML: "} + error.what());
  }
  return builder.take();
}

}  // namespace mqsteer
