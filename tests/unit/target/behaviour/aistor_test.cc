// SPDX-License-Identifier: Apache-2.0
// MinIO AIStor (s3rdmafs-protocol(7)).
#include "unit/target/behaviour/behaviour_fixture.h"

namespace s3rdmafs::target {
namespace {

TEST_F(BehaviourTest, AistorAnswersARangeAndAPartNumberWithReply206) {
  behave_as("aistor");
  EXPECT_EQ(get_range(), (Told{206, "206", "4"}));
  const Response part = request("GET", "/bucket/key?partNumber=1", kToken);
  EXPECT_EQ(reply(part), "206");
  EXPECT_EQ(service_.windows[kToken], "0123456789");
}

TEST_F(BehaviourTest, AistorDeclinesWithReply501AndAnErrorInsteadOfTheObject) {
  behave_as("aistor");
  const Response got = get(kNicToken);
  EXPECT_EQ(told(got), (Told{501, "501", ""}));
  EXPECT_EQ(code(got), "NotImplemented");
}

TEST_F(BehaviourTest, AistorTakesExactly81Characters) {
  behave_as("aistor");
  const Response refused = get(kOldAistorToken);
  EXPECT_EQ(refused.status, 500);
  EXPECT_NE(body(refused).find("115 characters, expected exactly 81"), std::string::npos);
  EXPECT_EQ(reply(get(kNicToken)), "501") << "control: the length is right, the NIC is missing";
}

TEST_F(BehaviourTest, AistorWantsAChecksumOfEachPartWhereTheUploadHasOne) {
  behave_as("aistor");
  service_.windows[kToken] = "123456789";
  const std::string with = part_address({{"x-amz-checksum-algorithm", "CRC32C"}});
  EXPECT_EQ(request("PUT", with, kToken).status, 501);
  EXPECT_EQ(request("PUT", with, kToken, {{"x-amz-checksum-crc32c", "4waSgw=="}}).status, 200);
  EXPECT_EQ(request("PUT", part_address(), kToken).status, 200) << "control: no algorithm, no need";
}

TEST_F(BehaviourTest, AistorGivesNoByteCountForAPut) {
  behave_as("aistor");
  EXPECT_EQ(told(put(kToken)), (Told{200, "200", ""}));
}

TEST_F(BehaviourTest, AistorListsUploadsOfOneKeyOnlyAndTakesThePrefixForTheKey) {
  (void)part_address();
  const auto uploads = [this](const std::string& prefix) {
    return body(send({.method = "GET", .target = "/bucket?uploads=&prefix=" + prefix}));
  };
  EXPECT_NE(uploads("ne").find("<Upload>"), std::string::npos) << "control: S3 goes by the prefix";
  behave_as("aistor");
  EXPECT_EQ(uploads("ne").find("<Upload>"), std::string::npos);
  EXPECT_EQ(uploads("").find("<Upload>"), std::string::npos);
  EXPECT_NE(uploads("new").find("<Upload>"), std::string::npos);
}

TEST_F(BehaviourTest, AistorHasNoRuleThatEndsUploadsThatAreNeverCompleted) {
  behave_as("aistor");
  const Response refused =
      send({.method = "PUT", .target = "/bucket?lifecycle=", .body = "<LifecycleConfiguration/>"});
  EXPECT_EQ(refused.status, 501);
  EXPECT_EQ(code(refused), "NotImplemented");
}

}  // namespace
}  // namespace s3rdmafs::target
