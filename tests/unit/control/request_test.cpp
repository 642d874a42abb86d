#include "control/request.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <ctime>
#include <string>

namespace mqsteer {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string fault_of(std::string_view line) {
  const auto request = parse_request(line);
  return request ? "" : request.error().text();
}

TEST(Request, GoesThereAndBack) {
  const Request request{"steering", "set", {{"mode", "rps"}, {"weights", "3,1"}}};
  const auto read = parse_request(request_line(request));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->object, "steering");
  EXPECT_EQ(read->command, "set");
  EXPECT_EQ(read->keys, request.keys);
}

TEST(Request, IsOneLineWhateverItsTexts) {
  const std::string line = request_line({"a\nb", "c\"", {{"\n", "\xff\x01"}}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(parse_request(line));
}

TEST(Request, TakesNumbersAndSwitchesAsJsonHasThem) {
  const auto request = parse_request(R"({"object":"x","keys":{"n":4096,"s":true}})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->keys, (KeyValues{{"n", "4096"}, {"s", "true"}}));
}

TEST(Request, RefusesWhatIsNoRequest) {
  EXPECT_THAT(fault_of("hello"), StartsWith("request: not JSON: 'hello'; allowed: {"));
  EXPECT_THAT(fault_of(""), HasSubstr("not JSON"));
  EXPECT_THAT(fault_of("[1,2]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(fault_of("null"), HasSubstr("not a JSON object"));
  EXPECT_THAT(fault_of(R"({"object":7})"), HasSubstr("object is not text"));
  EXPECT_THAT(fault_of(R"({"object":"a","command":["b"]})"), HasSubstr("command is not text"));
  EXPECT_THAT(fault_of(R"({"object":"a","keys":[]})"), HasSubstr("keys is not an object"));
  EXPECT_THAT(fault_of(R"({"object":"a","keys":{"b":null}})"), HasSubstr("the value of 'b'"));
  EXPECT_THAT(fault_of(R"({"object":"a","extra":1})"), HasSubstr("unknown member 'extra'"));
  EXPECT_THAT(fault_of(std::string_view{"{\"object\":\"a\0\"}", 14}), HasSubstr("not JSON"));
  EXPECT_THAT(fault_of("{\"object\":\"\xff\"}"), HasSubstr("not JSON"));
  EXPECT_THAT(fault_of(R"({"object":"a","keys":{"n":1e999}})"), HasSubstr("not JSON"));
}

TEST(Request, MessagesAreOneShortLine) {
  const std::string fault = fault_of(std::string(60'000, '\x01'));
  EXPECT_LT(fault.size(), 500U);
  EXPECT_EQ(fault.find('\x01'), std::string::npos);
}

TEST(Request, BoundsTheNesting) {
  const std::string deep(60'000, '[');
  EXPECT_THAT(fault_of(deep), HasSubstr("nested too deep"));
  EXPECT_THAT(fault_of(R"({"keys":)" + deep), HasSubstr("nested too deep"));
  EXPECT_FALSE(too_deep(R"({"a":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"[[[["})"));
}

/// CPU time to parse a request of so many keys, the least of five.
double parse_ticks(int members) {
  std::string line = R"({"object":"x","keys":{)";
  for (int i = 0; i < members; ++i) line += '"' + std::to_string(i + 1'000'000) + "\":1,";
  line.back() = '}';
  line += '}';
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const std::clock_t began = std::clock();
    EXPECT_TRUE(parse_request(line));
    least = std::min(least, static_cast<double>(std::clock() - began));
  }
  return least;
}

TEST(Request, ManyMembersCostNoMoreThanTheirLength) {
  // Four times the members: about four times the work, where a square would be sixteen times.
  EXPECT_LT(parse_ticks(5000), 10 * parse_ticks(1250));
}

TEST(ErrorLine, KeepsWhatAndAllowedApart) {
  EXPECT_EQ(error_line({0, "bad mode; allowed: rps, none"}),
            R"({"error":{"what":"bad mode","allowed":"rps, none"}})");
  EXPECT_EQ(error_line({13, "open it"}),
            R"({"error":{"what":"open it: Permission denied","allowed":""}})");
}

}  // namespace
}  // namespace mqsteer
