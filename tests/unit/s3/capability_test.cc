// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "s3/endpoints/capabilities.h"

namespace s3rdmafs::s3 {
namespace {

using State = Capability::State;

constexpr std::uint64_t kBytes = 1 << 20;

TEST(Capabilities, KnowThatAnEndpointReadsFromPutsAndPartsOnly) {
  const fakes::FakeClock clock;
  Capabilities capabilities(clock);
  capabilities.of(TransferKind::kGet).on_rdma_done(kBytes);
  EXPECT_FALSE(capabilities.is_known_to_read()) << "that it writes says nothing";
  capabilities.of(TransferKind::kUploadPart).on_rdma_done(kBytes);
  EXPECT_TRUE(capabilities.is_known_to_read());
  capabilities.of(TransferKind::kUploadPart).on_declined();
  EXPECT_FALSE(capabilities.is_known_to_read());
}

TEST(Capabilities, NeverTrustAnEndpointAgainThatStoredAnObjectWrong) {
  const fakes::FakeClock clock;
  Capabilities capabilities(clock);
  capabilities.of(TransferKind::kPut).on_rdma_done(kBytes);
  capabilities.on_unconfirmed_put();
  EXPECT_FALSE(capabilities.is_known_to_read());
  capabilities.of(TransferKind::kUploadPart).on_rdma_done(kBytes);
  EXPECT_FALSE(capabilities.is_known_to_read());
}

class CapabilityTest : public ::testing::Test {
 protected:
  fakes::FakeClock clock_;
  Capability capability_{clock_};
};

TEST_F(CapabilityTest, IsTriedUntilTheServerSaysOtherwise) {
  EXPECT_TRUE(capability_.should_try(kBytes));
  capability_.on_rdma_done(kBytes);
  EXPECT_EQ(capability_.state(), State::kWorks);
  EXPECT_TRUE(capability_.should_try(kBytes));
}

TEST_F(CapabilityTest, PaysForADeclineOnceAndProbesLater) {
  capability_.on_declined();
  EXPECT_FALSE(capability_.should_try(kBytes));
  clock_.advance(Capability::kProbeInterval);
  EXPECT_TRUE(capability_.is_worth_trying(kBytes));
  EXPECT_TRUE(capability_.should_try(kBytes));
  EXPECT_FALSE(capability_.is_worth_trying(kBytes));
  EXPECT_FALSE(capability_.should_try(kBytes)) << "one probe at a time";
  capability_.on_rdma_done(kBytes);
  EXPECT_TRUE(capability_.should_try(kBytes));
}

TEST_F(CapabilityTest, WaitsAgainAfterAProbeThatFailed) {
  capability_.on_token_rejected();
  EXPECT_EQ(capability_.state(), State::kRejectsTokens);
  clock_.advance(Capability::kProbeInterval);
  EXPECT_TRUE(capability_.should_try(kBytes));
  capability_.on_token_rejected();
  clock_.advance(Capability::kProbeInterval / 2);
  EXPECT_FALSE(capability_.should_try(kBytes));
}

TEST_F(CapabilityTest, BelievesTheFirstBodyOfAnUnknownServer) {
  capability_.on_body_answer(kBytes);
  EXPECT_EQ(capability_.state(), State::kDeclines);
}

// NooBaa: small objects come in the body, large ones by RDMA.
TEST_F(CapabilityTest, BelievesABodyForTransfersOfThatLengthOnly) {
  capability_.on_body_answer(kBytes);
  EXPECT_FALSE(capability_.should_try(kBytes));
  EXPECT_TRUE(capability_.should_try(kBytes + 1));
  capability_.on_body_answer(2 * kBytes);
  EXPECT_FALSE(capability_.should_try(kBytes + 1));
  capability_.on_declined();
  EXPECT_FALSE(capability_.should_try(4 * kBytes)) << "a decline means all";
}

TEST_F(CapabilityTest, DoesNotCountBodiesShorterThanWhatWentByRdma) {
  capability_.on_rdma_done(kBytes);
  for (unsigned i = 0; i < 2 * Capability::kBodyAnswersMax; ++i) {
    capability_.on_body_answer(kBytes - 1);
  }
  EXPECT_TRUE(capability_.should_try(kBytes));
}

TEST_F(CapabilityTest, BearsSomeBodiesFromAServerThatWorks) {
  capability_.on_rdma_done(kBytes);
  for (unsigned i = 1; i < Capability::kBodyAnswersMax; ++i) capability_.on_body_answer(kBytes);
  EXPECT_TRUE(capability_.should_try(kBytes));
  capability_.on_body_answer(kBytes);
  EXPECT_FALSE(capability_.should_try(kBytes));
}

TEST_F(CapabilityTest, GivesUpAfterFailedTransfersInARowOnly) {
  capability_.on_rdma_done(kBytes);
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 1; i < Capability::kFailuresMax; ++i) capability_.on_transfer_failed();
    capability_.on_rdma_done(kBytes);
  }
  EXPECT_TRUE(capability_.should_try(kBytes));
  for (unsigned i = 0; i < Capability::kFailuresMax; ++i) capability_.on_transfer_failed();
  EXPECT_FALSE(capability_.should_try(kBytes));
}

}  // namespace
}  // namespace s3rdmafs::s3
