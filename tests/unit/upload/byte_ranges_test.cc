// SPDX-License-Identifier: Apache-2.0
// The ranges against a bitmap of the same bytes.
#include "upload/staged/byte_ranges.h"

#include <algorithm>
#include <bitset>
#include <optional>
#include <random>

#include <gtest/gtest.h>

namespace s3rdmafs::upload {
namespace {

constexpr std::size_t kBytes = 200;
using Bitmap = std::bitset<kBytes>;

Bitmap bits_of(ByteRange range) {
  Bitmap bits;
  for (std::uint64_t i = range.begin; i < range.end; ++i) bits.set(i);
  return bits;
}

Bitmap bits_of(const ByteRanges& ranges) {
  Bitmap bits;
  for (const ByteRange& range : ranges.list()) bits |= bits_of(range);
  return bits;
}

void expect_well_formed(const ByteRanges& ranges) {
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> last_end;
  for (const ByteRange& range : ranges.list()) {
    EXPECT_LT(range.begin, range.end);
    if (last_end) {
      EXPECT_GT(range.begin, *last_end) << "ranges that touch are one";
    }
    last_end = range.end;
    bytes += range.size();
  }
  EXPECT_EQ(ranges.bytes(), bytes);
  EXPECT_EQ(ranges.end(), last_end.value_or(0));
  EXPECT_EQ(ranges.empty(), bytes == 0);
}

class RandomRanges {
 public:
  explicit RandomRanges(unsigned seed) : random_(seed) {}
  ByteRange range() {
    const std::uint64_t a = random_() % (kBytes + 1);
    const std::uint64_t length = random_() % (random_() % 8 == 0 ? kBytes : 12);
    return {.begin = a, .end = std::min(a + length, kBytes)};
  }
  ByteRanges ranges() {
    ByteRanges made;
    for (unsigned i = random_() % 6; i > 0; --i) made.add(range());
    return made;
  }
  unsigned number() { return static_cast<unsigned>(random_()); }

 private:
  std::minstd_rand random_;
};

TEST(ByteRanges, AreWhatABitmapOfTheSameBytesIs) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    RandomRanges random(seed);
    ByteRanges ranges;
    Bitmap bits;
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", step " << step);
      const ByteRange range = random.range();
      const ByteRanges others = random.ranges();
      switch (random.number() % 4) {
        case 0:
          ranges.add(range);
          bits |= bits_of(range);
          break;
        case 1:
          ranges.subtract(range);
          bits &= ~bits_of(range);
          break;
        case 2:
          ranges.add(others);
          bits |= bits_of(others);
          break;
        default:
          ranges.subtract(others);
          bits &= ~bits_of(others);
          break;
      }
      expect_well_formed(ranges);
      ASSERT_EQ(bits_of(ranges), bits);
      const ByteRange within = random.range();
      const Bitmap in = bits_of(within);
      expect_well_formed(ranges.intersect(within));
      expect_well_formed(ranges.complement(within));
      EXPECT_EQ(bits_of(ranges.intersect(within)), bits & in);
      EXPECT_EQ(bits_of(ranges.complement(within)), ~bits & in);
      EXPECT_EQ(ranges.contains(within), (~bits & in).none());
      EXPECT_EQ(ranges.intersects(within), (bits & in).any());
    }
  }
}

TEST(ByteRanges, AreWidenedToWholeSteps) {
  const ByteRanges ranges{{.begin = 5, .end = 6}, {.begin = 29, .end = 31}};
  EXPECT_EQ(ranges.widened(10), (ByteRanges{{.begin = 0, .end = 10}, {.begin = 20, .end = 40}}));
  EXPECT_EQ(ranges.widened(1), ranges);
}

TEST(ByteRanges, HaveNoBytesOnceTheyAreCleared) {
  ByteRanges ranges{{.begin = 5, .end = 6}};
  ranges.clear();
  expect_well_formed(ranges);
  EXPECT_EQ(ranges, ByteRanges());
}

TEST(ByteRanges, OfAFileThatIsWrittenInOrderAreOne) {
  ByteRanges ranges;
  for (std::uint64_t i = 0; i < 1000; ++i) ranges.add({.begin = i * 7, .end = i * 7 + 7});
  EXPECT_EQ(ranges.list(), (std::vector<ByteRange>{{.begin = 0, .end = 7000}}));
}

}  // namespace
}  // namespace s3rdmafs::upload
