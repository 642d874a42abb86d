#include "config/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace mqsteer {
namespace {

using testing::ElementsAre;

template <class E>
class Words : public testing::Test {};
using Enums = testing::Types<SteeringMode, IdlePolicy, Hugepages, OffloadPolicy, TunnelKey, RssBits,
                             CaptureFormat>;
TYPED_TEST_SUITE(Words, Enums);

TYPED_TEST(Words, EveryWordReadsBackToItsValue) {
  for (const std::string_view word : EnumWords<TypeParam>::kWords) {
    const auto value = parse_word<TypeParam>(word);
    ASSERT_TRUE(value) << word;
    EXPECT_EQ(name_of(*value), word);
  }
}

TYPED_TEST(Words, AWordOfALaterVersionIsRefusedAsSuch) {
  for (const std::string_view word : EnumWords<TypeParam>::kLater) {
    const auto value = parse_word<TypeParam>(word);
    ASSERT_FALSE(value) << word;
    EXPECT_EQ(value.error().message,
              "'" + std::string{word} +
                  "' is not supported by this version; allowed: " + allowed_words<TypeParam>());
  }
}

TYPED_TEST(Words, SpellingIsExact) {
  const std::string word{EnumWords<TypeParam>::kWords[0]};
  std::string upper = word;
  upper[0] = static_cast<char>(upper[0] - 'a' + 'A');
  for (const std::string& wrong : {" " + word, word + " ", upper, std::string{}, word + "x"}) {
    EXPECT_FALSE(parse_word<TypeParam>(wrong)) << wrong;
  }
}

TEST(WordNames, AreThoseOfTheDesign) {
  EXPECT_EQ(name_of(SteeringMode::kNone), "none");
  EXPECT_EQ(name_of(SteeringMode::kRps), "rps");
  EXPECT_EQ(name_of(SteeringMode::kSoftRss), "soft-rss");
  EXPECT_EQ(name_of(IdlePolicy::kPoll), "poll");
  EXPECT_EQ(name_of(IdlePolicy::kAdaptive), "adaptive");
  EXPECT_EQ(name_of(Hugepages::kAuto), "auto");
  EXPECT_EQ(name_of(Hugepages::kOff), "off");
  EXPECT_EQ(name_of(OffloadPolicy::kCheck), "check");
  EXPECT_EQ(name_of(OffloadPolicy::kFix), "fix");
  EXPECT_EQ(name_of(OffloadPolicy::kIgnore), "ignore");
  EXPECT_EQ(name_of(TunnelKey::kInner), "inner");
  EXPECT_EQ(name_of(TunnelKey::kOuter), "outer");
  EXPECT_EQ(name_of(RssBits::kAuto), "auto");
  EXPECT_EQ(name_of(RssBits::kHardware), "hardware");
  EXPECT_EQ(name_of(RssBits::kAboveNic), "above_nic");
  EXPECT_EQ(name_of(CaptureFormat::kPcapng), "pcapng");
  EXPECT_EQ(name_of(CaptureFormat::kPcap), "pcap");
}

TEST(WordNames, AnUnknownModeSaysWhatIsAllowed) {
  EXPECT_EQ(parse_mode("fast").error().message,
            "'fast' is not a steering mode; allowed: none, rps, soft-rss, rfs");
}

TEST(Numbers, OnlyPlainDecimalDigitsAreANumber) {
  EXPECT_EQ(*parse_number("0"), 0U);
  EXPECT_EQ(*parse_number("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"010", "0x10", "1e3", "-1", "+1", " 1", "1 ", ".inf", "1.0", "1_000", "",
                           "18446744073709551616", "\u0661"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
}

TEST(NumberList, KeepsTheOrderAndExpandsRanges) {
  EXPECT_THAT(*parse_number_list("0,2-3"), ElementsAre(0, 2, 3));
  EXPECT_THAT(*parse_number_list("3,0-1"), ElementsAre(3, 0, 1));
  EXPECT_THAT(*parse_number_list("65535"), ElementsAre(65535));
  EXPECT_EQ(parse_number_list("0-65535")->size(), 65536U);
}

TEST(NumberList, SaysWhatIsWrong) {
  const std::string form = "; allowed: numbers and ranges such as 0,2-3";
  const std::pair<const char*, const char*> cases[] = {
      {"", "the list is empty"},
      {"1,", "an empty text is not a number or a range"},
      {",1", "an empty text is not a number or a range"},
      {"1-", "'1-' is not a number or a range"},
      {"-1", "'-1' is not a number or a range"},
      {"1-2-3", "'1-2-3' is not a number or a range"},
      {"1, 2", "' 2' is not a number or a range"},
      {"x", "'x' is not a number or a range"},
      {"3-2", "'3-2' runs backwards"},
      {"65536", "'65536' is above 65535"},
      {"0-18446744073709551615", "'0-18446744073709551615' is above 65535"},
      {"2,1-3", "2 is given twice"},
  };
  for (const auto& [text, what] : cases) {
    const auto list = parse_number_list(text);
    ASSERT_FALSE(list) << text;
    EXPECT_EQ(list.error().message, what + form);
  }
}

TEST(NumberList, IsWrittenAsShortAsItReadsBack) {
  const std::vector<std::uint16_t> numbers{0, 2, 3, 1, 7, 6, 5};
  EXPECT_EQ(format_number_list(numbers), "0,2-3,1,7,6,5");
  EXPECT_EQ(format_number_list({}), "");
}

TEST(NumberList, EveryListReadsBackFromItsText) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint16_t> numbers(1 + random() % 20);
    std::iota(numbers.begin(), numbers.end(), static_cast<std::uint16_t>(random() % 65000));
    std::shuffle(numbers.begin() + static_cast<std::ptrdiff_t>(random() % numbers.size()),
                 numbers.end(), random);
    EXPECT_EQ(*parse_number_list(format_number_list(numbers)), numbers);
  }
}

TEST(Weights, MayRepeatAndHaveNoRanges) {
  EXPECT_THAT(*parse_weights("3,1,1"), ElementsAre(3, 1, 1));
  EXPECT_EQ(format_weights(*parse_weights("3,1,1")), "3,1,1");
  EXPECT_EQ(parse_weights("1-3").error().message,
            "'1-3' is not a whole decimal number; allowed: numbers between commas such as 3,1");
  EXPECT_EQ(parse_weights("").error().message,
            "the list is empty; allowed: numbers between commas such as 3,1");
  EXPECT_EQ(parse_weights("4294967296").error().message,
            "'4294967296' is out of range; allowed: numbers between commas such as 3,1");
}

TEST(Switches, AreTrueFalseOnOff) {
  EXPECT_TRUE(*parse_switch("true"));
  EXPECT_TRUE(*parse_switch("on"));
  EXPECT_FALSE(*parse_switch("false"));
  EXPECT_FALSE(*parse_switch("off"));
  EXPECT_EQ(parse_switch("yes").error().message,
            "'yes' is not a switch; allowed: true, false, on, off");
}

TEST(NearestWord, IsFoundForATypingErrorAlone) {
  const std::string_view words[] = {"workers", "weights", "mode"};
  EXPECT_EQ(nearest_word("wokrers", words), "workers");
  EXPECT_EQ(nearest_word("weight", words), "weights");
  EXPECT_EQ(nearest_word("bananas", words), "");
  EXPECT_EQ(nearest_word(std::string(100000, 'x'), words), "");
}

TEST(Messages, ShowForeignBytesHarmlessly) {
  EXPECT_EQ(in_quotes("a\n\x1b[31m\x7f"), R"('a\x0a\x1b[31m\x7f')");
  EXPECT_EQ(in_quotes(std::string(1000, 'x')), "'" + std::string(64, 'x') + "...'");
  EXPECT_EQ(in_quotes(""), "an empty text");
}

TEST(Messages, ComeApartIntoWhatAndAllowed) {
  const auto [what, allowed] = refusal_of(parse_mode("; allowed: x").error());
  EXPECT_EQ(what, "'; allowed: x' is not a steering mode");
  EXPECT_EQ(allowed, "none, rps, soft-rss, rfs");
}

}  // namespace
}  // namespace mqsteer
