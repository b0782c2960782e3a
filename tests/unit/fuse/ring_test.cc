// SPDX-License-Identifier: Apache-2.0
#include "fuse/kernel/ring.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::fuse {
namespace {

using testing::HasSubstr;

TEST(Ring, IsToBeHadWhereBuildKernelAndRightsAllowIt) {
  EXPECT_EQ(judge_ring(true, "Y", 0).reason, "");
}

TEST(Ring, IsRefusedWithTheFirstThingInTheWayAndWhatToDo) {
  EXPECT_THAT(judge_ring(false, "Y", 0).advice, HasSubstr("get-libfuse.sh"));
  EXPECT_THAT(judge_ring(true, "", 0).advice, HasSubstr("6.14"));
  EXPECT_THAT(judge_ring(true, "N", 0).advice, HasSubstr("echo Y >"));
  EXPECT_THAT(judge_ring(true, "Y", EPERM).reason, HasSubstr("not permitted"));
}

TEST(Ring, ItsBuffersStayBoundedOnMachinesWithManyProcessors) {
  EXPECT_EQ(ring_depth(2), 32U);
  EXPECT_EQ(ring_depth(16), 16U);
  EXPECT_EQ(ring_depth(512), 4U);
}

TEST(Ring, ThisMachineHasItOrAReasonWithAdvice) {
  const UringBlocker blocker = find_uring_blocker();
  EXPECT_EQ(blocker.reason.empty(), blocker.advice.empty());
  EXPECT_GE(ring_depth(), ring_depth(1U << 20));
}

}  // namespace
}  // namespace s3rdmafs::fuse
