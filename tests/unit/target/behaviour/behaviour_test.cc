// SPDX-License-Identifier: Apache-2.0
// The table of behaviours, and each line of s3rdmafs-protocol(7) as a client sees it.
#include "unit/target/behaviour/behaviour_fixture.h"

namespace s3rdmafs::target {
namespace {

TEST_F(BehaviourTest, EachNameIsKnownOnceAndTheFirstIsTheSpecification) {
  EXPECT_EQ(behaviours().front().name, "spec");
  EXPECT_EQ(behaviour_names(),
            "spec, aistor, noobaa, versitygw, ecs, cloudian, scality, rocm-ernic, ceph-osd-direct, "
            "weak-etags, no-delimiter, repeated-tokens, no-if-match, put-conditions-only, "
            "no-conditions, refused-conditions, no-part-copy, rename-object, plain");
  for (const Behaviour& behaviour : behaviours()) {
    EXPECT_EQ(find_behaviour(behaviour.name)->name, behaviour.name);
  }
  EXPECT_FALSE(find_behaviour("minio"));
}

TEST_F(BehaviourTest, SpecAnswersARangeWith206AndReply206) {
  behave_as("spec");
  EXPECT_EQ(get_range(), (Told{206, "206", "4"}));
}

TEST_F(BehaviourTest, SpecDeclinesWithReply501AndTheObjectInTheBody) {
  behave_as("spec");
  EXPECT_EQ(get_in_body(kNicToken), (Told{200, "501", ""}));
  EXPECT_EQ(told(put(kNicToken)), (Told{200, "501", ""}));
  EXPECT_FALSE(is_stored());
}

TEST_F(BehaviourTest, SpecTakesParts) {
  behave_as("spec");
  EXPECT_EQ(told(request("PUT", part_address(), kToken)), (Told{200, "200", "10"}));
}

TEST_F(BehaviourTest, SpecNamesAFailedTransfer) {
  behave_as("spec");
  service_.fail_transfers = true;
  EXPECT_EQ(code(get(kToken)), "RDMATransferFailed");
  EXPECT_EQ(reply(get(kToken)), "");
}

TEST_F(BehaviourTest, PlainIgnoresTokensAndStoresTheEmptyObject) {
  behave_as("plain");
  EXPECT_EQ(get_in_body(kToken), (Told{200, "", ""}));
  EXPECT_EQ(told(put(kToken)), (Told{200, "", ""}));
  EXPECT_TRUE(is_stored());
  EXPECT_EQ(read_file(folder("bucket/new")), "");
}

TEST_F(BehaviourTest, AnEndpointOfHipObjectIsDeclinedOrMalformedButNeverServed) {
  for (const Behaviour& behaviour : behaviours()) {
    if (behaviour.ignores_tokens) continue;
    services_->behaviour = behaviour;
    const Response got = get(std::string(88, 'a'));
    EXPECT_NE(reply(got), "200") << behaviour.name;
    EXPECT_EQ(service_.windows[kToken], "0123456789");
  }
}

}  // namespace
}  // namespace s3rdmafs::target
