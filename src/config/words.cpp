#include "config/words.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <utility>

namespace mqsteer {
namespace {

constexpr std::string_view kAllowed = "; allowed: ";
constexpr std::string_view kListForm = "; allowed: numbers and ranges such as 0,2-3";
constexpr std::string_view kWeightsForm = "; allowed: numbers between commas such as 3,1";

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The texts between commas, empty ones too.
std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

/// Levenshtein's: single letters added, removed or exchanged.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t exchanged = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, exchanged}));
    }
  }
  return row.back();
}

struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

Expected<Range> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1));
  if (!first || !last) return fail(in_quotes(text) + " is not a number or a range");
  if (*first > *last) return fail(in_quotes(text) + " runs backwards");
  if (*last > std::numeric_limits<std::uint16_t>::max()) {
    return fail(in_quotes(text) + " is above 65535");
  }
  return Range{static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*last)};
}

}  // namespace

std::string join(WordsView words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

std::string_view nearest_word(std::string_view text, WordsView words) {
  constexpr std::size_t kLongest = 64;
  std::string_view nearest;
  std::size_t least = std::min<std::size_t>(4, text.size());  // 4 letters off is another word
  if (text.size() > kLongest) return nearest;
  for (const std::string_view word : words) {
    const std::size_t letters = distance(text, word);
    if (letters < least) {
      least = letters;
      nearest = word;
    }
  }
  return nearest;
}

Expected<std::size_t> find_word(std::string_view text, std::string_view what, WordsView words,
                                WordsView later) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  std::string message = in_quotes(text);
  if (std::find(later.begin(), later.end(), text) != later.end()) {
    message += " is not supported by this version";
  } else {
    message.append(" is not ").append(what);
  }
  return fail(message.append(kAllowed) + join(words));
}

Expected<SteeringMode> parse_mode(std::string_view text) {
  return parse_word<SteeringMode>(text);
}
Expected<IdlePolicy> parse_idle(std::string_view text) {
  return parse_word<IdlePolicy>(text);
}
Expected<Hugepages> parse_hugepages(std::string_view text) {
  return parse_word<Hugepages>(text);
}
Expected<OffloadPolicy> parse_offloads(std::string_view text) {
  return parse_word<OffloadPolicy>(text);
}
Expected<TunnelKey> parse_tunnels(std::string_view text) {
  return parse_word<TunnelKey>(text);
}
Expected<Fragments> parse_fragments(std::string_view text) {
  return parse_word<Fragments>(text);
}
Expected<RssBits> parse_rss_bits(std::string_view text) {
  return parse_word<RssBits>(text);
}
Expected<CaptureFormat> parse_capture_format(std::string_view text) {
  return parse_word<CaptureFormat>(text);
}

Expected<bool> parse_switch(std::string_view text) {
  if (text == "true" || text == "on") return true;
  if (text == "false" || text == "off") return false;
  return fail(in_quotes(text) + " is not a switch; allowed: true, false, on, off");
}

Expected<std::uint64_t> parse_number(std::string_view text) {
  constexpr std::string_view kForm = "; allowed: decimal digits without sign or leading zero";
  const bool leading_zero = text.size() > 1 && text.front() == '0';
  if (!all_digits(text) || leading_zero) {
    return fail(in_quotes(text) + " is not a whole decimal number" + std::string{kForm});
  }
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{}) {
    return fail(in_quotes(text) + " is out of range" + std::string{kForm});
  }
  return value;
}

Expected<std::vector<std::uint16_t>> parse_number_list(std::string_view text) {
  if (text.empty()) return fail("the list is empty" + std::string{kListForm});
  std::vector<std::uint16_t> numbers;
  std::vector<bool> seen(std::numeric_limits<std::uint16_t>::max() + std::size_t{1});
  for (const std::string_view part : split_at_commas(text)) {
    const auto range = parse_range(part);
    if (!range) return fail(range.error().message + std::string{kListForm});
    for (std::uint32_t n = range->first; n <= range->last; ++n) {
      if (seen[n]) return fail(std::to_string(n) + " is given twice" + std::string{kListForm});
      seen[n] = true;
      numbers.push_back(static_cast<std::uint16_t>(n));
    }
  }
  return numbers;
}

std::string format_number_list(std::span<const std::uint16_t> numbers) {
  std::string text;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[first]);
    if (last > first) text += '-' + std::to_string(numbers[last]);
    first = last + 1;
  }
  return text;
}

Expected<std::vector<std::uint32_t>> parse_weights(std::string_view text) {
  if (text.empty()) return fail("the list is empty" + std::string{kWeightsForm});
  std::vector<std::uint32_t> weights;
  for (const std::string_view part : split_at_commas(text)) {
    const auto weight = parse_number(part);
    if (!weight) return fail(refusal_of(weight.error()).what + std::string{kWeightsForm});
    if (*weight > std::numeric_limits<std::uint32_t>::max()) {
      return fail(in_quotes(part) + " is out of range" + std::string{kWeightsForm});
    }
    weights.push_back(static_cast<std::uint32_t>(*weight));
  }
  return weights;
}

std::string format_weights(std::span<const std::uint32_t> weights) {
  std::string text;
  for (const std::uint32_t weight : weights) {
    if (!text.empty()) text += ',';
    text += std::to_string(weight);
  }
  return text;
}

Refusal refusal_of(const Error& error) {
  const std::string text = error.text();
  const std::size_t at = text.rfind(kAllowed);
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + kAllowed.size())};
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 64;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string line;
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      line += c;
    } else {
      line.append("\\x").append(1, kHex[byte >> 4U]).append(1, kHex[byte & 0xfU]);
    }
  }
  if (text.size() > kMost) line += "...";
  return line;
}

std::string in_quotes(std::string_view text) {
  if (text.empty()) return "an empty text";
  return "'" + printable(text) + "'";
}

}  // namespace mqsteer
