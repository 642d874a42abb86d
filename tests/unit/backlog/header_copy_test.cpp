#include "backlog/header_copy.h"

#include "support/fake_mbufs.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace mqsteer {
namespace {

std::vector<std::uint8_t> counting(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
  return bytes;
}

void expect_prefix(const HeaderLine& line, std::size_t valid) {
  for (std::size_t i = 0; i < line.bytes.size(); ++i) {
    const auto want = static_cast<std::uint8_t>(i < valid ? i + 1 : 0);
    ASSERT_EQ(std::to_integer<std::uint8_t>(line.bytes[i]), want) << "byte " << i;
  }
}

TEST(HeaderCopy, CopiesUpTo64BytesAndZeroesTheRestForEveryLength) {
  for (std::size_t size = 1; size <= 80; ++size) {
    test::FakeMbufs mbufs;  // buffers are exactly as long: a sanitizer sees any read past them
    HeaderLine line;
    const std::size_t valid = std::min<std::size_t>(size, 64);
    EXPECT_EQ(copy_header(*mbufs.make(counting(size)), line, LineStore::kCached), valid);
    expect_prefix(line, valid);
  }
}

TEST(HeaderCopy, DoesNotCopyWhatABufferHeldBefore) {
  test::FakeMbufs mbufs;
  rte_mbuf* mbuf = mbufs.make(counting(128));
  mbuf->data_len = 54;
  mbuf->pkt_len = 54;
  HeaderLine line;
  EXPECT_EQ(copy_header(*mbuf, line, LineStore::kStreaming), 54);
  _mm_sfence();
  expect_prefix(line, 54);
}

TEST(HeaderCopy, GathersShortSegments) {
  for (const std::size_t at : {1U, 13U, 14U, 33U, 63U}) {
    test::FakeMbufs mbufs;
    HeaderLine line;
    EXPECT_EQ(copy_header(*mbufs.make_segmented(counting(90), at), line, LineStore::kCached), 64);
    expect_prefix(line, 64);
  }
}

}  // namespace
}  // namespace mqsteer
