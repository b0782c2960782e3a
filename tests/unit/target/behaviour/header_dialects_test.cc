// SPDX-License-Identifier: Apache-2.0
// Servers that differ in their headers above all: Dell ObjectScale, Cloudian, Scality, rocm-ernic
// (s3rdmafs-protocol(7)).
#include "unit/target/behaviour/behaviour_fixture.h"

namespace s3rdmafs::target {
namespace {

TEST_F(BehaviourTest, EcsHasATokenHeaderOfItsOwnAndNoByteCount) {
  behave_as("ecs");
  EXPECT_EQ(services_->behaviour.token_header, "x-rdma-info");
  EXPECT_EQ(get_range(), (Told{206, "200", ""}));
  EXPECT_EQ(told(put(kToken)), (Told{200, "200", ""}));
}

TEST_F(BehaviourTest, EcsDoesNotKnowTheUsualHeader) {
  behave_as("ecs");
  const Response got =
      send({.method = "GET", .target = "/bucket/key", .headers = {{"x-amz-rdma-token", kToken}}});
  EXPECT_EQ(reply(got), "");
  EXPECT_EQ(body(got), "0123456789");
}

TEST_F(BehaviourTest, EcsFailsWithHttp500AndNoReplyHeaderWhateverTheReason) {
  behave_as("ecs");
  service_.fail_transfers = true;
  for (const Response& failed : {get(kToken), get("none"), get(kNicToken), put(kToken)}) {
    EXPECT_EQ(failed.status, 500);
    EXPECT_EQ(reply(failed), "");
  }
  EXPECT_FALSE(is_stored());
}

TEST_F(BehaviourTest, CloudianRepliesWithTheStatusAndCountsGets) {
  behave_as("cloudian");
  EXPECT_EQ(get_range(), (Told{206, "206", "4"}));
  EXPECT_EQ(told(put(kToken)), (Told{200, "200", ""}));
}

TEST_F(BehaviourTest, CloudianPutsWhatItDeclinesIntoTheBody) {
  behave_as("cloudian");
  EXPECT_EQ(body(get(kNicToken)), "0123456789");
}

TEST_F(BehaviourTest, ScalityHasATokenHeaderOfItsOwn) {
  behave_as("scality");
  EXPECT_EQ(services_->behaviour.token_header, "x-scal-rdma");
  EXPECT_EQ(get_range(), (Told{206, "206", "4"}));
}

TEST_F(BehaviourTest, RocmErnicHasABytesHeaderOfItsOwn) {
  behave_as("rocm-ernic");
  for (const Response& done : {get(kToken), put(kToken)}) {
    EXPECT_EQ(reply(done), "200");
    EXPECT_EQ(header(done, "x-amz-rdma-bytes"), "10");
    EXPECT_EQ(count(done), "") << "the usual header";
  }
}

TEST_F(BehaviourTest, RocmErnicTakesHipObjectsTokensOnly) {
  behave_as("rocm-ernic");
  EXPECT_EQ(get(kNicToken).status, 400);
  EXPECT_EQ(put(kNicToken).status, 400);
  EXPECT_FALSE(is_stored());
  const std::string token = std::string(88, 'a') + ":0000000000001000:000000000000000a";
  EXPECT_EQ(reply(get(token)), "501") << "control: well-formed, the NIC is missing";
}

}  // namespace
}  // namespace s3rdmafs::target
