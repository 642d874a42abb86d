#pragma once

#include <mqsteer/config.h>
#include <mqsteer/error.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mqsteer {

/// The words of an enum: one table each, used by the file, the command line and the control socket.
///
/// kWords: in the order of the enum's values
/// kLater: words of the design that this version refuses
template <class E>
struct EnumWords;

using WordsView = std::span<const std::string_view>;

template <>
struct EnumWords<SteeringMode> {
  static constexpr std::string_view kWhat = "a steering mode";
  static constexpr std::array<std::string_view, 4> kWords = {"none", "rps", "soft-rss", "rfs"};
  static constexpr std::array<std::string_view, 0> kLater = {};
};

template <>
struct EnumWords<IdlePolicy> {
  static constexpr std::string_view kWhat = "an idle policy";
  static constexpr std::array<std::string_view, 2> kWords = {"poll", "adaptive"};
  static constexpr std::array<std::string_view, 1> kLater = {"interrupt"};
};

template <>
struct EnumWords<Hugepages> {
  static constexpr std::string_view kWhat = "a hugepage setting";
  static constexpr std::array<std::string_view, 2> kWords = {"auto", "off"};
  static constexpr std::array<std::string_view, 0> kLater = {};
};

template <>
struct EnumWords<OffloadPolicy> {
  static constexpr std::string_view kWhat = "an offload policy";
  static constexpr std::array<std::string_view, 3> kWords = {"check", "fix", "ignore"};
  static constexpr std::array<std::string_view, 0> kLater = {};
};

template <>
struct EnumWords<TunnelKey> {
  static constexpr std::string_view kWhat = "a tunnel setting";
  static constexpr std::array<std::string_view, 2> kWords = {"inner", "outer"};
  static constexpr std::array<std::string_view, 0> kLater = {};
};

template <>
struct EnumWords<Fragments> {
  static constexpr std::string_view kWhat = "a treatment of fragments";
  static constexpr std::array<std::string_view, 2> kWords = {"key", "track"};
  static constexpr std::array<std::string_view, 0> kLater = {};
};

template <>
struct EnumWords<RssBits> {
  static constexpr std::string_view kWhat = "a choice of hash bits";
  static constexpr std::array<std::string_view, 3> kWords = {"auto", "hardware", "above_nic"};
  static constexpr std::array<std::string_view, 0> kLater = {};
};

template <>
struct EnumWords<CaptureFormat> {
  static constexpr std::string_view kWhat = "a capture format";
  static constexpr std::array<std::string_view, 2> kWords = {"pcapng", "pcap"};
  static constexpr std::array<std::string_view, 0> kLater = {};
};

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires {
  EnumWords<E>::kWords;
};

/// The word of a value, as it stands in files, output and commands.
template <NamedEnum E>
[[nodiscard]] constexpr std::string_view name_of(E value) noexcept {
  return EnumWords<E>::kWords[static_cast<std::size_t>(value)];
}

/// "none, rps, soft-rss"
[[nodiscard]] std::string join(WordsView words);

template <NamedEnum E>
[[nodiscard]] std::string allowed_words() {
  return join(EnumWords<E>::kWords);
}

/// The word that `text` was most likely meant to be, or "" if none is near.
[[nodiscard]] std::string_view nearest_word(std::string_view text, WordsView words);

/// The place of `text` in `words`, or an error that says what is allowed.
[[nodiscard]] Expected<std::size_t> find_word(std::string_view text, std::string_view what,
                                              WordsView words, WordsView later);

/// The value of a word, exactly as written (lower case, no spaces around it).
template <NamedEnum E>
[[nodiscard]] Expected<E> parse_word(std::string_view text) {
  using Table = EnumWords<E>;
  const auto index = find_word(text, Table::kWhat, Table::kWords, Table::kLater);
  if (!index) return tl::unexpected(index.error());
  return static_cast<E>(*index);
}

[[nodiscard]] Expected<SteeringMode> parse_mode(std::string_view text);
[[nodiscard]] Expected<IdlePolicy> parse_idle(std::string_view text);
[[nodiscard]] Expected<Hugepages> parse_hugepages(std::string_view text);
[[nodiscard]] Expected<OffloadPolicy> parse_offloads(std::string_view text);
[[nodiscard]] Expected<TunnelKey> parse_tunnels(std::string_view text);
[[nodiscard]] Expected<Fragments> parse_fragments(std::string_view text);
[[nodiscard]] Expected<RssBits> parse_rss_bits(std::string_view text);
[[nodiscard]] Expected<CaptureFormat> parse_capture_format(std::string_view text);

/// true, false, on or off.
[[nodiscard]] Expected<bool> parse_switch(std::string_view text);

/// A whole number in plain decimal digits: no sign, base prefix, leading zero, exponent or space.
[[nodiscard]] Expected<std::uint64_t> parse_number(std::string_view text);

/// Numbers in the order they are given, `0,2-3` being 0, 2, 3. Refuses an empty list, numbers
/// above 65535, a range that runs backwards, and a number given twice.
[[nodiscard]] Expected<std::vector<std::uint16_t>> parse_number_list(std::string_view text);

/// The shortest text that parse_number_list() reads back to the same list; "" when empty.
[[nodiscard]] std::string format_number_list(std::span<const std::uint16_t> numbers);

/// Numbers between commas, in order; repeats allowed, no ranges: `3,1,1`.
[[nodiscard]] Expected<std::vector<std::uint32_t>> parse_weights(std::string_view text);
[[nodiscard]] std::string format_weights(std::span<const std::uint32_t> weights);

/// A refusal `WHAT; allowed: ALLOWED` in its two parts; allowed is empty where nothing is listed.
struct Refusal {
  std::string what;
  std::string allowed;
};
[[nodiscard]] Refusal refusal_of(const Error& error);

/// Bytes of unknown origin, fit for one line of a message: control bytes and DEL as `\xNN`, and cut
/// at 64 bytes.
[[nodiscard]] std::string printable(std::string_view text);

/// printable() between quotes, or `an empty text`.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace mqsteer
