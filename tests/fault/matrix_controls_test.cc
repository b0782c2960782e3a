// SPDX-License-Identifier: Apache-2.0
// The controls of the matrix: it notices each kind of failure.
#include <algorithm>

#include "matrix_fixture.h"

namespace s3rdmafs::fault {
namespace {

TEST_F(MatrixTest, SeesLateWritesIntoMemoryThatIsInUseAgain) {
  const auto kinds = target::fault_descriptions();
  const auto late =
      std::ranges::find(kinds, target::FaultKind::kLateWrite, &target::FaultDescription::kind);
  Case without_fence = fault_case(*late, kPrefer);
  without_fence.fence = Client::Fence::kLies;
  EXPECT_THAT(run_one(without_fence).problems, testing::Contains(testing::HasSubstr("memory")));
}

TEST_F(MatrixTest, SeesWrongBytesThatWereNotVerified) {
  const auto kinds = target::fault_descriptions();
  const auto corrupt =
      std::ranges::find(kinds, target::FaultKind::kCorrupt, &target::FaultDescription::kind);
  Case unverified = fault_case(*corrupt, kPrefer);
  unverified.rdma.verify = Verify::kOff;
  EXPECT_THAT(run_one(unverified).problems, testing::Contains(testing::HasSubstr("wrong bytes")));
}

TEST_F(MatrixTest, SeesAnObjectThatIsNeitherOldNorNew) {
  const Written good{.key = "k", .bytes = "new", .before = "old", .is_good = true};
  const Written failed{.key = "k", .bytes = "new", .before = "old", .is_good = false};
  EXPECT_EQ(problem_with(good, "new"), "");
  EXPECT_EQ(problem_with(failed, "old"), "");
  EXPECT_EQ(problem_with(failed, "new"), "") << "stored, but the answer was lost";
  EXPECT_NE(problem_with(good, "old"), "");
  for (const Written& written : {good, failed}) {
    EXPECT_NE(problem_with(written, ""), "") << "an empty object";
    EXPECT_NE(problem_with(written, std::nullopt), "") << "what was there is gone";
  }
}

}  // namespace
}  // namespace s3rdmafs::fault
