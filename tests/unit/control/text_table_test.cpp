#include "control/text_table.h"

#include "control/text_views.h"

#include <gtest/gtest.h>

namespace mqsteer {
namespace {

TEST(TextTable, AlignsNumbersRightAndTextsLeft) {
  TextTable table{{"<NAME", "COUNT", "<NOTE"}};
  table.add({{"left"}, {"7"}, {"x"}});
  table.add({{"right one"}, {"123456"}});
  EXPECT_EQ(table.text(Paint{false}),
            "NAME        COUNT  NOTE\n"
            "left            7  x\n"
            "right one  123456\n");
}

TEST(TextTable, ColoursDoNotShiftColumns) {
  TextTable table{{"<A", "B"}};
  table.add({{"x", Colour::kRed}, {"1"}});
  EXPECT_EQ(table.text(Paint{true}), "\x1b[1mA\x1b[0m  \x1b[1mB\x1b[0m\n\x1b[31mx\x1b[0m  1\n");
}

TEST(TextTable, CountsCharactersRatherThanBytes) {
  TextTable table{{"<A", "B"}};
  table.add({{"öäü"}, {"1"}});
  table.add({{"abc"}, {"2"}});
  EXPECT_EQ(table.text(Paint{false}), "A    B\nöäü  1\nabc  2\n");
}

TEST(TextTable, TamesWhatWouldSteerATerminal) {
  TextTable table{{"<A"}};
  table.add({{"\x1b[2Jx\ny\x7f"}});
  EXPECT_EQ(table.text(Paint{false}), "A\n?[2Jx?y?\n");
}

TEST(Units, AreThoseThatPeopleRead) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(std::uint64_t{5} << 30U), "5.0 GiB");
  EXPECT_EQ(span_text(59), "59s");
  EXPECT_EQ(span_text(3600), "1h 0m 0s");
  EXPECT_EQ(span_text(90061), "1d 1h 1m 1s");
}

}  // namespace
}  // namespace mqsteer
