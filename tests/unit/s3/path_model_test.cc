// SPDX-License-Identifier: Apache-2.0
// Time is what the test says it was: the model has no clock of its own.
#include "s3/endpoints/path_model.h"

#include <gtest/gtest.h>

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSmall = 16 * kKiB;
constexpr std::size_t kMedium = 256 * kKiB;

void teach(PathModel& model, std::size_t length, std::chrono::nanoseconds rdma,
           std::chrono::nanoseconds http, unsigned times = PathModel::kSamplesMin) {
  for (unsigned i = 0; i < times; ++i) {
    model.on_done(length, Path::kRdma, rdma);
    model.on_done(length, Path::kHttp, http);
  }
}

TEST(PathModel, GuessesByLengthBeforeAnythingIsMeasured) {
  const PathModel model;
  EXPECT_EQ(model.better(PathModel::kGuessBytes - 1), Path::kHttp);
  EXPECT_EQ(model.better(PathModel::kGuessBytes), Path::kRdma);
  EXPECT_EQ(model.better(1), Path::kHttp);
}

TEST(PathModel, TakesWhatIsFasterOnceBothWereMeasured) {
  PathModel model;
  teach(model, kSmall, 100us, 300us);
  EXPECT_EQ(model.better(kSmall), Path::kRdma);
  teach(model, kMedium, 900us, 300us);
  EXPECT_EQ(model.better(kMedium), Path::kHttp);
}

TEST(PathModel, IsNotTurnedAroundByAFewTransfers) {
  PathModel model;
  teach(model, kMedium, 900us, 300us, PathModel::kSamplesMin - 1);
  EXPECT_EQ(model.better(kMedium), Path::kRdma) << "still the guess";
}

TEST(PathModel, KeepsRdmaWhereHttpIsHardlyFaster) {
  PathModel model;
  teach(model, kMedium, 100us, 95us);
  EXPECT_EQ(model.better(kMedium), Path::kRdma);
}

TEST(PathModel, LearnsForEachSizeOnItsOwn) {
  PathModel model;
  teach(model, kSmall, 100us, 300us);
  EXPECT_EQ(model.better(kSmall), Path::kRdma);
  EXPECT_EQ(model.better(kSmall / 4), Path::kHttp) << "another class: the guess";
}

TEST(PathModel, FollowsALoadThatChanges) {
  PathModel model;
  teach(model, kMedium, 100us, 300us, 100);
  ASSERT_EQ(model.better(kMedium), Path::kRdma);
  teach(model, kMedium, 2ms, 300us, 50);
  EXPECT_EQ(model.better(kMedium), Path::kHttp);
}

TEST(PathModel, LooksAtTheOtherWayNowAndThenAndNotMoreOften) {
  PathModel model;
  teach(model, kMedium, 100us, 300us);
  unsigned others = 0;
  for (unsigned i = 0; i < 10 * PathModel::kExploreEvery; ++i) {
    if (model.choose(kMedium) == Path::kHttp) ++others;
  }
  EXPECT_EQ(others, 10U);
}

TEST(PathModel, NeverLooksAtHttpForWhatIsLarge) {
  PathModel model;
  for (unsigned i = 0; i < 2 * PathModel::kExploreEvery; ++i) {
    model.on_done(PathModel::kAlwaysRdmaBytes, Path::kRdma, 1s);
    model.on_done(PathModel::kAlwaysRdmaBytes, Path::kHttp, 1us);
    ASSERT_EQ(model.choose(PathModel::kAlwaysRdmaBytes), Path::kRdma);
  }
}

}  // namespace
}  // namespace s3rdmafs::s3
