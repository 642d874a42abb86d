#pragma once

#include "config/schema.h"
#include "config/words.h"

#include <mqsteer/error.h>

#include <array>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// How a value of each type is read, checked and written. Only schema.cpp uses this.
namespace mqsteer::schema {

template <class T>
concept Number = std::unsigned_integral<T> && !std::same_as<T, bool>;

using Names = std::array<std::string, 2>;
using Numbers = std::vector<std::uint16_t>;
using Weights = std::vector<std::uint32_t>;

/// `WHAT; allowed: ALLOWED`
[[nodiscard]] tl::unexpected<Error> refuse(std::string_view what, std::string_view allowed);

/// The value as one text; a list is refused.
[[nodiscard]] Expected<std::string> one_text(const Value& value, std::string_view allowed);
/// As one_text(), and not in quotes.
[[nodiscard]] Expected<std::string> plain_text(const Value& value, std::string_view allowed);
/// A list in either of its forms, `[0, 2-3]` or `0,2-3`, as the latter.
[[nodiscard]] std::string list_text(const Value& value);
/// As YAML, in quotes where a plain text would mean something else.
[[nodiscard]] std::string yaml_text(std::string_view text);

// --- allowed_text(): what a key of the type takes, from its rule

[[nodiscard]] std::string number_text(const Rule& rule);
[[nodiscard]] std::string form_text(const Rule& rule);

template <class T>
[[nodiscard]] std::string allowed_text(const Rule& rule) {
  if constexpr (std::same_as<T, bool>) {
    return "true, false, on, off";
  } else if constexpr (NamedEnum<T>) {
    return allowed_words<T>();
  } else if constexpr (Number<T> || std::same_as<T, std::optional<std::uint16_t>> ||
                       std::same_as<T, std::optional<std::uint32_t>>) {
    return number_text(rule);
  } else {
    return form_text(rule);
  }
}

// --- check_value(): what the type alone does not ensure

using Checked = Expected<void>;

[[nodiscard]] Checked check_number(std::uint64_t value, const Rule& rule, std::string_view allowed);
[[nodiscard]] Checked check_value(const Numbers& value, const Rule& rule, std::string_view allowed);
[[nodiscard]] Checked check_value(const Weights& value, const Rule& rule, std::string_view allowed);
[[nodiscard]] Checked check_value(const Names& value, const Rule& rule, std::string_view allowed);
[[nodiscard]] Checked check_value(const std::string& value, const Rule& rule,
                                  std::string_view allowed);

template <class T>
requires std::same_as<T, bool> || NamedEnum<T>
[[nodiscard]] Checked check_value(T /*value*/, const Rule& /*rule*/, std::string_view /*allowed*/) {
  return {};
}
template <Number T>
[[nodiscard]] Checked check_value(T value, const Rule& rule, std::string_view allowed) {
  return check_number(value, rule, allowed);
}
template <Number T>
[[nodiscard]] Checked check_value(const std::optional<T>& value, const Rule& rule,
                                  std::string_view allowed) {
  return value ? check_number(*value, rule, allowed) : Checked{};
}

// --- parse_value<T>()

template <class T>
struct Parse;

template <>
struct Parse<bool> {
  static Expected<bool> from(const Value& value, const Rule& rule, std::string_view allowed);
};
template <>
struct Parse<std::string> {
  static Expected<std::string> from(const Value& value, const Rule& rule, std::string_view allowed);
};
template <>
struct Parse<Names> {
  static Expected<Names> from(const Value& value, const Rule& rule, std::string_view allowed);
};
template <>
struct Parse<Numbers> {
  static Expected<Numbers> from(const Value& value, const Rule& rule, std::string_view allowed);
};
template <>
struct Parse<Weights> {
  static Expected<Weights> from(const Value& value, const Rule& rule, std::string_view allowed);
};
template <>
struct Parse<std::uint64_t> {
  static Expected<std::uint64_t> from(const Value& value, const Rule& rule,
                                      std::string_view allowed);
};
template <Number T>
struct Parse<T> {
  static Expected<T> from(const Value& value, const Rule& rule, std::string_view allowed) {
    // Every rule's max is one of T's values (schema.cpp), so the cast loses nothing.
    return Parse<std::uint64_t>::from(value, rule, allowed).map([](std::uint64_t n) {
      return static_cast<T>(n);
    });
  }
};
template <Number T>
struct Parse<std::optional<T>> {
  static Expected<std::optional<T>> from(const Value& value, const Rule& rule,
                                         std::string_view allowed) {
    if (!value.list && value.text == rule.word) return std::optional<T>{};
    return Parse<T>::from(value, rule, allowed).map([](T n) { return std::optional<T>{n}; });
  }
};
template <NamedEnum E>
struct Parse<E> {
  static Expected<E> from(const Value& value, const Rule& /*rule*/, std::string_view allowed) {
    return one_text(value, allowed).and_then([](const std::string& text) {
      return parse_word<E>(text);
    });
  }
};

// --- value_text(): as it stands in the file

[[nodiscard]] std::string value_text(const Numbers& value, const Rule& rule);
[[nodiscard]] std::string value_text(const Weights& value, const Rule& rule);
[[nodiscard]] std::string value_text(const Names& value, const Rule& rule);
[[nodiscard]] std::string value_text(const std::string& value, const Rule& rule);
[[nodiscard]] std::string value_text(bool value, const Rule& rule);

template <NamedEnum E>
[[nodiscard]] std::string value_text(E value, const Rule& /*rule*/) {
  return std::string{name_of(value)};
}
template <Number T>
[[nodiscard]] std::string value_text(T value, const Rule& /*rule*/) {
  return std::to_string(value);
}
template <Number T>
[[nodiscard]] std::string value_text(const std::optional<T>& value, const Rule& rule) {
  return value ? std::to_string(*value) : std::string{rule.word};
}

}  // namespace mqsteer::schema
