// SPDX-License-Identifier: Apache-2.0
#include "s3/capability.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"

namespace s3rdmafs::s3 {
namespace {

using State = Capability::State;

TEST(Capabilities, KnowThatAnEndpointReadsFromPutsAndPartsOnly) {
  const fakes::FakeClock clock;
  Capabilities capabilities(clock);
  capabilities.of(TransferKind::kGet).on_rdma_done();
  EXPECT_FALSE(capabilities.is_known_to_read()) << "that it writes says nothing";
  capabilities.of(TransferKind::kUploadPart).on_rdma_done();
  EXPECT_TRUE(capabilities.is_known_to_read());
  capabilities.of(TransferKind::kUploadPart).on_declined();
  EXPECT_FALSE(capabilities.is_known_to_read());
}

TEST(Capabilities, NeverTrustAnEndpointAgainThatStoredAnObjectWrong) {
  const fakes::FakeClock clock;
  Capabilities capabilities(clock);
  capabilities.of(TransferKind::kPut).on_rdma_done();
  capabilities.on_spoiled();
  EXPECT_FALSE(capabilities.is_known_to_read());
  capabilities.of(TransferKind::kUploadPart).on_rdma_done();
  EXPECT_FALSE(capabilities.is_known_to_read());
}

class CapabilityTest : public ::testing::Test {
 protected:
  fakes::FakeClock clock_;
  Capability capability_{clock_};
};

TEST_F(CapabilityTest, IsTriedUntilTheServerSaysOtherwise) {
  EXPECT_TRUE(capability_.should_try());
  capability_.on_rdma_done();
  EXPECT_EQ(capability_.state(), State::kWorks);
  EXPECT_TRUE(capability_.should_try());
}

TEST_F(CapabilityTest, PaysForADeclineOnceAndProbesLater) {
  capability_.on_declined();
  EXPECT_FALSE(capability_.should_try());
  clock_.advance(Capability::kProbeInterval);
  EXPECT_TRUE(capability_.is_worth_trying());
  EXPECT_TRUE(capability_.should_try());
  EXPECT_FALSE(capability_.is_worth_trying());
  EXPECT_FALSE(capability_.should_try()) << "one probe at a time";
  capability_.on_rdma_done();
  EXPECT_TRUE(capability_.should_try());
}

TEST_F(CapabilityTest, WaitsAgainAfterAProbeThatFailed) {
  capability_.on_token_rejected();
  EXPECT_EQ(capability_.state(), State::kRejectsTokens);
  clock_.advance(Capability::kProbeInterval);
  EXPECT_TRUE(capability_.should_try());
  capability_.on_token_rejected();
  clock_.advance(Capability::kProbeInterval / 2);
  EXPECT_FALSE(capability_.should_try());
}

TEST_F(CapabilityTest, BelievesTheFirstBodyOfAnUnknownServer) {
  capability_.on_body_answer();
  EXPECT_EQ(capability_.state(), State::kDeclines);
}

TEST_F(CapabilityTest, BearsSomeBodiesFromAServerThatWorks) {
  capability_.on_rdma_done();
  for (unsigned i = 1; i < Capability::kBodyAnswersMax; ++i) capability_.on_body_answer();
  EXPECT_TRUE(capability_.should_try());
  capability_.on_body_answer();
  EXPECT_FALSE(capability_.should_try());
}

TEST_F(CapabilityTest, GivesUpAfterFailedTransfersInARowOnly) {
  capability_.on_rdma_done();
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 1; i < Capability::kFailuresMax; ++i) capability_.on_transfer_failed();
    capability_.on_rdma_done();
  }
  EXPECT_TRUE(capability_.should_try());
  for (unsigned i = 0; i < Capability::kFailuresMax; ++i) capability_.on_transfer_failed();
  EXPECT_FALSE(capability_.should_try());
}

}  // namespace
}  // namespace s3rdmafs::s3
