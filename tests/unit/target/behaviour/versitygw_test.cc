// SPDX-License-Identifier: Apache-2.0
// versitygw (s3rdmafs-protocol(7)).
#include "unit/target/behaviour/behaviour_fixture.h"

namespace s3rdmafs::target {
namespace {

TEST_F(BehaviourTest, VersitygwRepliesAlways200ThoughHttpSays206) {
  behave_as("versitygw");
  EXPECT_EQ(get_range(), (Told{206, "200", "4"}));
  EXPECT_EQ(count(put(kToken)), "10");
}

TEST_F(BehaviourTest, VersitygwFailsWhereTheRangeIsLongerThanTheWindow) {
  behave_as("versitygw");
  service_.windows[kToken] = "....";
  EXPECT_EQ(get(kToken).status, 500);
  EXPECT_EQ(service_.windows[kToken], "....");
}

TEST_F(BehaviourTest, VersitygwFailsAboveItsLimitOfOneGibibyte) {
  behave_as("versitygw");
  EXPECT_EQ(services_->behaviour.transfer_bytes_max, kGiB);
  services_->behaviour.transfer_bytes_max = 9;
  EXPECT_EQ(get(kToken).status, 500);
  EXPECT_EQ(put(kToken).status, 500);
  EXPECT_FALSE(is_stored());
}

TEST_F(BehaviourTest, VersitygwSendsAnEmptyObjectWithoutAReplyHeader) {
  behave_as("versitygw");
  EXPECT_EQ(told(request("GET", "/bucket/empty", kToken)), (Told{200, "", ""}));
}

TEST_F(BehaviourTest, VersitygwTakesNoParts) {
  behave_as("versitygw");
  const Response refused = request("PUT", part_address(), kToken);
  EXPECT_EQ(refused.status, 501);
  EXPECT_EQ(code(refused), "NotImplemented");
}

TEST_F(BehaviourTest, VersitygwTakesWholeObjectsAsLargeAsTheWindow) {
  behave_as("versitygw");
  EXPECT_EQ(told(put(kToken)), (Told{200, "200", "10"}));
  EXPECT_EQ(read_file(folder("bucket/new")), "0123456789");
}

TEST_F(BehaviourTest, VersitygwLooksAtTwoFieldsOfATokenOnly) {
  behave_as("versitygw");
  EXPECT_EQ(get("not-a-valid-token").status, 400);
  EXPECT_EQ(get("1122334455667788:2000:whatever").status, 501) << "well-formed, to it";
}

}  // namespace
}  // namespace s3rdmafs::target
