// SPDX-License-Identifier: Apache-2.0
#include "cache/readahead/transfer_model.h"

#include <gtest/gtest.h>

namespace s3rdmafs::cache {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TransferModel::Time kStart{};

TEST(TransferModel, IsCarefulBeforeAnythingIsMeasured) {
  const TransferModel model;
  EXPECT_EQ(model.pace().part_bytes, TransferModel::kPartBytesMin);
  EXPECT_EQ(model.pace().window_bytes, 2 * TransferModel::kPartBytesMin);
}

TEST(TransferModel, MakesLargePartsOfAFastNetwork) {
  TransferModel model;
  model.on_done(64 * kKiB, microseconds(150), kStart);
  model.on_done(1 * kMiB, microseconds(400), kStart);  // 2.6 GB/s
  EXPECT_EQ(model.pace().first_bytes, kMiB) << "a round trip brings less than the least part";
  EXPECT_EQ(model.pace().part_bytes, TransferModel::kPartBytesMax);
  EXPECT_EQ(model.pace().window_bytes, 2 * TransferModel::kPartBytesMax);
}

// 100 MB/s at 1 ms: 8 MiB would hold a connection for 80 ms.
TEST(TransferModel, MakesSmallPartsOfASlowNetwork) {
  TransferModel model;
  model.on_done(1 * kKiB, milliseconds(1), kStart);
  model.on_done(1 * kMiB, milliseconds(10), kStart);
  EXPECT_EQ(model.pace().part_bytes, TransferModel::kPartBytesMin);
}

// 1 GB/s at 20 ms: 20 MB are on their way in one round trip.
TEST(TransferModel, KeepsALongPipeFull) {
  TransferModel model;
  model.on_done(1 * kMiB, milliseconds(20), kStart);
  model.on_done(24 * kMiB, milliseconds(24), kStart);
  EXPECT_EQ(model.pace().first_bytes, TransferModel::kPartBytesMax);
  EXPECT_EQ(model.pace().part_bytes, TransferModel::kPartBytesMax);
  EXPECT_GT(model.pace().window_bytes, 64 * kMiB);
}

// A lookup took 50 ms; a MiB takes 1 ms more. The network carries 1 GB/s, and 50 MB in a round
// trip.
TEST(TransferModel, TellsAFarServersNetworkFromItsAnswers) {
  TransferModel model;
  model.on_answer(milliseconds(50), kStart);
  model.on_done(1 * kMiB, milliseconds(51), kStart);
  EXPECT_TRUE(model.pace().is_far);
  EXPECT_EQ(model.pace().part_bytes, TransferModel::kPartBytesMax);
  EXPECT_GT(model.pace().window_bytes, 100 * kMiB);
  EXPECT_GT(model.pace().useful_bytes, 256 * kMiB);
}

// At the 1 GB/s that it guesses, 50 MB are on their way in one round trip.
TEST(TransferModel, DoesNotWaitForTheFirstBytesToKnowThatTheServerIsFar) {
  TransferModel model;
  model.on_answer(milliseconds(50), kStart);
  EXPECT_TRUE(model.pace().is_far);
  EXPECT_GT(model.pace().window_bytes, 100 * kMiB);
  model.on_answer(milliseconds(1), kStart);
  EXPECT_FALSE(model.pace().is_far) << "the first answer came late for another reason";
  EXPECT_EQ(model.pace().window_bytes, 2 * TransferModel::kPartBytesMin);
}

// 10 MB/s: what arrives in a round trip is half a MiB.
TEST(TransferModel, AsksLittleOfAFarServerWhoseNetworkIsSlow) {
  TransferModel model;
  model.on_answer(milliseconds(50), kStart);
  model.on_done(1 * kMiB, milliseconds(155), kStart);
  EXPECT_TRUE(model.pace().is_far);
  EXPECT_LE(model.pace().window_bytes, 4 * kMiB);
}

// 8 MiB take 80 ms: a window of more than 64 MiB would only wait in line.
TEST(TransferModel, DoesNotTakeASlowNetworkForAFarServer) {
  for (const bool is_answer_known : {false, true}) {
    TransferModel model;
    if (is_answer_known) model.on_answer(microseconds(200), kStart);
    for (int i = 0; i < 100; ++i) {
      model.on_done(8 * kMiB, milliseconds(80 + i % 2), kStart + seconds(i));
    }
    EXPECT_FALSE(model.pace().is_far);
    EXPECT_EQ(model.pace().useful_bytes, TransferModel::kUsefulBytesMin);
  }
}

TEST(TransferModel, RemembersAnswersForMinutesSinceAReaderLooksNothingUp) {
  TransferModel model;
  model.on_answer(milliseconds(50), kStart);
  model.on_done(1 * kMiB, milliseconds(51), kStart + std::chrono::minutes(9));
  EXPECT_TRUE(model.pace().is_far);
  // The server's requests go to another one now, which is near.
  model.on_answer(milliseconds(1), kStart + std::chrono::minutes(9));
  model.on_done(1 * kMiB, milliseconds(2), kStart + std::chrono::minutes(9));
  EXPECT_FALSE(model.pace().is_far);
}

TEST(TransferModel, BelievesNoSmallDifferenceOfTimesNearTheServer) {
  TransferModel model;
  model.on_answer(microseconds(150), kStart);
  model.on_done(64 * kKiB, microseconds(151), kStart);
  EXPECT_FALSE(model.pace().is_far);
  EXPECT_EQ(model.pace().part_bytes, kMiB) << "0.4 GB/s, and not 65";
  EXPECT_EQ(model.pace().useful_bytes, TransferModel::kUsefulBytesMin);
}

TEST(TransferModel, IsNotMisledByTransfersThatWaitedForOthers) {
  TransferModel model;
  model.on_done(1 * kMiB, microseconds(400), kStart);
  const Pace before = model.pace();
  for (int i = 0; i < 100; ++i) model.on_done(1 * kMiB, milliseconds(50), kStart);
  EXPECT_EQ(model.pace().part_bytes, before.part_bytes);
  EXPECT_EQ(model.pace().window_bytes, before.window_bytes);
}

TEST(TransferModel, ForgetsOldMeasurements) {
  TransferModel model;
  model.on_done(1 * kMiB, microseconds(400), kStart);
  model.on_done(1 * kMiB, milliseconds(3), kStart + TransferModel::kMemory);
  EXPECT_EQ(model.pace().part_bytes, TransferModel::kPartBytesMax) << "still within memory";
  model.on_done(1 * kMiB, milliseconds(3), kStart + 2 * TransferModel::kMemory);
  EXPECT_LT(model.pace().part_bytes, TransferModel::kPartBytesMax);
}

TEST(TransferModel, TakesATransferThatTookNoTimeAtAll) {
  TransferModel model;
  model.on_done(1 * kMiB, seconds(0), kStart);
  EXPECT_EQ(model.pace().part_bytes, TransferModel::kPartBytesMax);
}

}  // namespace
}  // namespace s3rdmafs::cache
