#include "config/schema_values.h"

#include <mqsteer/id.h>

#include <algorithm>
#include <bit>
#include <cctype>

namespace mqsteer::schema {
namespace {

/// The refusal of a part of words.h, with what this key allows instead of what the form does.
tl::unexpected<Error> with_allowed(const Error& error, std::string_view allowed) {
  return refuse(refusal_of(error).what, allowed);
}

std::string with_word(const Rule& rule, const std::string& rest) {
  return rule.word.empty() ? rest : std::string{rule.word} + ", or " + rest;
}

bool is_plain(std::string_view text) {
  constexpr std::array<std::string_view, 9> kMeaningful = {"null", "true", "false", "yes", "no",
                                                           "on",   "off",  "y",     "n"};
  std::string lower{text};
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  if (text.empty() || std::ranges::find(kMeaningful, lower) != kMeaningful.end()) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return (letter(text.front()) || text.front() == '/') &&
         std::all_of(text.begin(), text.end(), [&letter](char c) {
           return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ||
                  c == '/';
         });
}

}  // namespace

tl::unexpected<Error> refuse(std::string_view what, std::string_view allowed) {
  return fail(std::string{what}.append("; allowed: ").append(allowed));
}

Expected<std::string> one_text(const Value& value, std::string_view allowed) {
  if (value.list) return refuse("this is a list, one value is wanted", allowed);
  return value.text;
}

Expected<std::string> plain_text(const Value& value, std::string_view allowed) {
  if (!value.list && value.quoted) {
    return refuse(in_quotes(value.text) + " stands in quotes, which makes it a text", allowed);
  }
  return one_text(value, allowed);
}

std::string list_text(const Value& value) {
  if (!value.list) return value.text;
  std::string text;
  for (const std::string& item : value.items) {
    if (&item != &value.items.front()) text += ',';
    text += item;
  }
  return text;
}

std::string yaml_text(std::string_view text) {
  if (is_plain(text)) return std::string{text};
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result += '"';
}

std::string number_text(const Rule& rule) {
  std::string text = rule.power_of_two ? "a power of two " : "";
  text += std::to_string(rule.min) + ".." + std::to_string(rule.max);
  if (!rule.unit.empty()) text.append(" ").append(rule.unit);
  if (rule.multiple_of != 1) text += ", a multiple of " + std::to_string(rule.multiple_of);
  return with_word(rule, text);
}

std::string form_text(const Rule& rule) {
  return with_word(rule, std::string{rule.form});
}

Checked check_number(std::uint64_t value, const Rule& rule, std::string_view allowed) {
  const std::string text = std::to_string(value);
  if (value < rule.min || value > rule.max) return refuse(text + " is out of range", allowed);
  if (rule.power_of_two && !std::has_single_bit(value)) {
    return refuse(text + " is not a power of two", allowed);
  }
  if (value % rule.multiple_of != 0) {
    return refuse(text + " is not a multiple of " + std::to_string(rule.multiple_of), allowed);
  }
  return {};
}

Checked check_value(const Numbers& value, const Rule& rule, std::string_view allowed) {
  if (value.size() > kMaxWorkers) {
    return refuse(std::to_string(value.size()) + " numbers are more than 128", allowed);
  }
  Numbers sorted = value;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) return refuse(std::to_string(*twice) + " is given twice", allowed);
  for (const std::uint16_t number : value) {
    if (auto checked = check_number(number, rule, allowed); !checked) return checked;
  }
  return {};
}

Checked check_value(const Weights& value, const Rule& rule, std::string_view allowed) {
  if (value.size() > kMaxWorkers) {
    return refuse(std::to_string(value.size()) + " weights are more than 128", allowed);
  }
  for (const std::uint32_t weight : value) {
    if (auto checked = check_number(weight, rule, allowed); !checked) return checked;
  }
  return {};
}

Checked check_value(const Names& value, const Rule& rule, std::string_view allowed) {
  for (const std::string& name : value) {
    if (auto checked = check_value(name, rule, allowed); !checked) return checked;
  }
  return {};
}

Checked check_value(const std::string& value, const Rule& rule, std::string_view allowed) {
  const std::string flaw = rule.flaw(value);
  return flaw.empty() ? Checked{} : refuse(flaw, allowed);
}

Expected<bool> Parse<bool>::from(const Value& value, const Rule& /*rule*/,
                                 std::string_view allowed) {
  return plain_text(value, allowed).and_then([](const std::string& text) {
    return parse_switch(text);
  });
}

Expected<std::uint64_t> Parse<std::uint64_t>::from(const Value& value, const Rule& rule,
                                                   std::string_view allowed) {
  const auto text = plain_text(value, allowed);
  if (!text) return tl::unexpected(text.error());
  const auto number = parse_number(*text);
  if (!number) return with_allowed(number.error(), allowed);
  if (auto checked = check_number(*number, rule, allowed); !checked) {
    return tl::unexpected(checked.error());
  }
  return *number;
}

Expected<std::string> Parse<std::string>::from(const Value& value, const Rule& rule,
                                               std::string_view allowed) {
  auto text = one_text(value, allowed);
  if (!text) return text;
  if (auto checked = check_value(*text, rule, allowed); !checked) {
    return tl::unexpected(checked.error());
  }
  return text;
}

Expected<Names> Parse<Names>::from(const Value& value, const Rule& rule, std::string_view allowed) {
  if (!value.list) return refuse(in_quotes(value.text) + " is not a list", allowed);
  if (value.items.size() != 2) {
    return refuse(std::to_string(value.items.size()) + " ports, a bridge joins two", allowed);
  }
  Names names{value.items[0], value.items[1]};
  if (auto checked = check_value(names, rule, allowed); !checked) {
    return tl::unexpected(checked.error());
  }
  return names;
}

Expected<Numbers> Parse<Numbers>::from(const Value& value, const Rule& rule,
                                       std::string_view allowed) {
  if (!value.list && value.text == rule.word) return Numbers{};
  auto numbers = parse_number_list(list_text(value));
  if (!numbers) return with_allowed(numbers.error(), allowed);
  if (auto checked = check_value(*numbers, rule, allowed); !checked) {
    return tl::unexpected(checked.error());
  }
  return numbers;
}

Expected<Weights> Parse<Weights>::from(const Value& value, const Rule& rule,
                                       std::string_view allowed) {
  if (!value.list && value.text == rule.word) return Weights{};
  auto weights = parse_weights(list_text(value));
  if (!weights) return with_allowed(weights.error(), allowed);
  if (auto checked = check_value(*weights, rule, allowed); !checked) {
    return tl::unexpected(checked.error());
  }
  return weights;
}

std::string value_text(const Numbers& value, const Rule& rule) {
  return value.empty() ? std::string{rule.word} : format_number_list(value);
}

std::string value_text(const Weights& value, const Rule& rule) {
  return value.empty() ? std::string{rule.word} : format_weights(value);
}

std::string value_text(const Names& value, const Rule& /*rule*/) {
  return "[" + yaml_text(value[0]) + ", " + yaml_text(value[1]) + "]";
}

std::string value_text(const std::string& value, const Rule& /*rule*/) {
  return yaml_text(value);
}

std::string value_text(bool value, const Rule& rule) {
  if (rule.on_off) return value ? "on" : "off";
  return value ? "true" : "false";
}

}  // namespace mqsteer::schema
