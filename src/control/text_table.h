#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mqsteer {

enum class Colour : std::uint8_t { kPlain, kBold, kGreen, kYellow, kRed };

/// ANSI colours, where they are wanted.
class Paint {
 public:
  explicit Paint(bool on) noexcept : on_{on} {}
  [[nodiscard]] std::string operator()(Colour colour, std::string_view text) const;

 private:
  bool on_;
};

/// The text with everything that would steer a terminal or break a line as '?'.
[[nodiscard]] std::string tame(std::string_view text);

struct Cell {
  std::string text;
  Colour colour = Colour::kPlain;
};

/// Columns under their titles, two spaces apart. No line ends in spaces.
class TextTable {
 public:
  /// titles: one that begins with '<' has its column aligned left, as texts are; others right
  explicit TextTable(std::vector<std::string> titles);

  /// Missing cells are empty.
  void add(std::vector<Cell> row);
  [[nodiscard]] std::string text(const Paint& paint) const;

 private:
  void append_row(std::string& out, const std::vector<Cell>& row, const Paint& paint) const;

  std::vector<Cell> titles_;
  std::vector<bool> left_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace mqsteer
