#include "control/text_table.h"

#include <algorithm>

namespace mqsteer {
namespace {

/// Columns on a terminal: bytes that do not continue a UTF-8 character.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80;
  }));
}

}  // namespace

std::string Paint::operator()(Colour colour, std::string_view text) const {
  if (!on_ || colour == Colour::kPlain || text.empty()) return std::string{text};
  constexpr std::string_view kCodes[] = {"0", "1", "32", "33", "31"};
  std::string out = "\x1b[";
  out.append(kCodes[static_cast<std::size_t>(colour)]).append("m").append(text);
  return out.append("\x1b[0m");
}

std::string tame(std::string_view text) {
  std::string out{text};
  std::replace_if(
      out.begin(), out.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return out;
}

TextTable::TextTable(std::vector<std::string> titles) {
  for (std::string& title : titles) {
    left_.push_back(title.substr(0, 1) == "<");
    if (left_.back()) title.erase(0, 1);
    widths_.push_back(width_of(title));
    titles_.push_back({std::move(title), Colour::kBold});
  }
}

void TextTable::add(std::vector<Cell> row) {
  row.resize(titles_.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i].text = tame(row[i].text);
    widths_[i] = std::max(widths_[i], width_of(row[i].text));
  }
  rows_.push_back(std::move(row));
}

std::string TextTable::text(const Paint& paint) const {
  std::string out;
  append_row(out, titles_, paint);
  for (const auto& row : rows_) append_row(out, row, paint);
  return out;
}

void TextTable::append_row(std::string& out, const std::vector<Cell>& row,
                           const Paint& paint) const {
  std::string blanks;  // those that are due before the next cell
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string padding(widths_[i] - width_of(row[i].text), ' ');
    if (!left_[i]) blanks += padding;
    if (!row[i].text.empty()) {
      out += blanks + paint(row[i].colour, row[i].text);
      blanks.clear();
    }
    if (left_[i]) blanks += padding;
    blanks += "  ";
  }
  out += '\n';
}

}  // namespace mqsteer
