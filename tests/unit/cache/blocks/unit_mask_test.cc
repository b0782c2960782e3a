// SPDX-License-Identifier: Apache-2.0
#include "cache/blocks/unit_mask.h"

#include <gtest/gtest.h>

namespace s3rdmafs::cache {
namespace {

TEST(UnitMask, FindsEveryRunOverBothOfItsWords) {
  for (std::uint64_t first = 0; first < kUnitsMax; ++first) {
    for (std::uint64_t last = first + 1; last <= kUnitsMax; ++last) {
      const UnitRun run = lowest_run(unit_mask(first, last));
      ASSERT_EQ(run.first, first) << last;
      ASSERT_EQ(run.last, last) << first;
    }
  }
}

TEST(UnitMask, GivesTheLowestOfSeveralRuns) {
  UnitMask mask = unit_mask(3, 5) | unit_mask(60, 70) | unit_mask(127, 128);
  for (const UnitRun& expected : {UnitRun{3, 5}, UnitRun{60, 70}, UnitRun{127, 128}}) {
    const UnitRun run = lowest_run(mask);
    EXPECT_EQ(run.first, expected.first);
    EXPECT_EQ(run.last, expected.last);
    mask &= ~unit_mask(run.first, run.last);
  }
  EXPECT_TRUE(mask == 0);
  EXPECT_EQ(lowest_unit(mask), kUnitsMax);
}

}  // namespace
}  // namespace s3rdmafs::cache
