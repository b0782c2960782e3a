// SPDX-License-Identifier: Apache-2.0
#include "upload/part_sizes.h"

#include <gtest/gtest.h>

namespace s3rdmafs::upload {
namespace {

TEST(PartSizes, DoubleAfterEachFiveHundredPartsUpToTheLargest) {
  const PartSizes sizes{.first_bytes = 8 * kMiB, .max_bytes = 32 * kMiB};
  EXPECT_EQ(sizes.of(1), 8 * kMiB);
  EXPECT_EQ(sizes.of(500), 8 * kMiB);
  EXPECT_EQ(sizes.of(501), 16 * kMiB);
  EXPECT_EQ(sizes.of(1001), 32 * kMiB);
  EXPECT_EQ(sizes.of(kPartsMax), 32 * kMiB);
}

TEST(PartSizes, LetTenThousandPartsHoldExactlyTheLargestObject) {
  const PartSizes sizes = part_sizes_for(8 * kMiB, 256 * kMiB);
  std::uint64_t sum = 0;
  for (unsigned number = 1; number <= kPartsMax; ++number) sum += sizes.of(number);
  EXPECT_EQ(sizes.object_bytes_max(), sum);
  EXPECT_EQ(sum / kGiB, 558) << "s3rdmafs.toml(5) says 558GiB";
}

TEST(PartSizes, ReachTheLargestObjectOfS3WithFourGibibytesOfBuffers) {
  EXPECT_EQ(part_sizes_for(8 * kMiB, 4 * kGiB).object_bytes_max(), kObjectBytesMax);
  EXPECT_LT(part_sizes_for(8 * kMiB, 2 * kGiB).object_bytes_max(), kObjectBytesMax);
}

TEST(PartSizes, LeaveRoomForPartsThatTravel) {
  EXPECT_EQ(part_sizes_for(8 * kMiB, 16 * kMiB).max_bytes, 8 * kMiB) << "never below the first";
  EXPECT_EQ(part_sizes_for(8 * kMiB, 64 * kMiB).max_bytes, 16 * kMiB) << "a quarter";
  EXPECT_EQ(part_sizes_for(10 * kMiB, kTiB).max_bytes, 640 * kMiB) << "doublings, to 1 GiB";
}

}  // namespace
}  // namespace s3rdmafs::upload
