// SPDX-License-Identifier: Apache-2.0
// NooBaa (s3rdmafs-protocol(7)).
#include "unit/target/behaviour/behaviour_fixture.h"

namespace s3rdmafs::target {
namespace {

class NoobaaTest : public BehaviourTest {
 protected:
  NoobaaTest() {
    behave_as("noobaa");
    write_file(folder("bucket/key"), large_);
    service_.windows[kToken] = std::string(large_.size(), '.');
  }
  const std::string large_ = std::string(4096, 'a') + "tail";
};

TEST_F(NoobaaTest, RepliesWithTheHttpStatusAndCountsBothWays) {
  const Response ranged = get(kToken, {{"range", "bytes=0-4096"}});
  EXPECT_EQ(told(ranged), (Told{206, "206", "4097"}));
  EXPECT_EQ(count(put(kToken)), "4100");
}

TEST_F(NoobaaTest, SendsSmallObjectsInTheBodyWithoutAReplyHeader) {
  const Response small = get(kToken, {{"range", "bytes=1-4096"}});
  EXPECT_EQ(small.status, 206);
  EXPECT_EQ(reply(small), "");
  EXPECT_EQ(body(small).size(), 4096U);
}

TEST_F(NoobaaTest, TruncatesAGetToTheWindowWithoutAWord) {
  service_.windows[kToken].resize(100);
  EXPECT_EQ(told(get(kToken)), (Told{200, "200", "100"}));
  EXPECT_EQ(service_.windows[kToken], large_.substr(0, 100));
}

TEST_F(NoobaaTest, RepliesToAnEmptyObjectWithNoBytes) {
  const Response got = request("GET", "/bucket/empty", kToken);
  EXPECT_EQ(reply(got), "200");
  EXPECT_EQ(count(got), "0");
}

TEST_F(NoobaaTest, IsSwitchedOffWithHttp501AndItsOwnCode) {
  services_->rdma = nullptr;
  for (const Response& declined : {get(kToken), put(kToken)}) {
    EXPECT_EQ(declined.status, 501);
    EXPECT_EQ(code(declined), "S3RdmaNotSupported");
    EXPECT_EQ(reply(declined), "");
  }
}

TEST_F(NoobaaTest, ChecksTheWidthOfEachFieldUnlessToldNotTo) {
  EXPECT_EQ(code(get("1:2:3")), "S3InvalidRdmaToken");
  EXPECT_EQ(code(get(kOldAistorToken)), "S3InvalidRdmaToken");
  EXPECT_EQ(code(get(kNicToken)), "S3RdmaNotSupported") << "control: well-formed";
  services_->behaviour.token_form = TokenForm::kOpaque;
  EXPECT_EQ(code(get(kOldAistorToken)), "S3RdmaNotSupported");
}

TEST_F(NoobaaTest, NamesAFailedTransferItsOwnWay) {
  service_.fail_transfers = true;
  EXPECT_EQ(code(get(kToken)), "S3RdmaIoError");
}

TEST_F(NoobaaTest, TakesOneAgentAndEchoesIt) {
  const Response got = get(kToken, {{"x-amz-rdma-agent", "cuobj"}});
  EXPECT_EQ(header(got, "x-amz-rdma-agent"), "cuobj");
  EXPECT_EQ(get(kToken, {{"x-amz-rdma-agent", "other"}}).status, 400);
}

TEST_F(NoobaaTest, ComparesNoChecksumOfAWriteAndKeepsNone) {
  constexpr const char* kWrong = "AAAAAAAAAAA=";
  service_.windows[kToken] = "123456789";
  const Response stored = put(kToken, {{"x-amz-checksum-crc64nvme", kWrong}});
  EXPECT_EQ(stored.status, 200);
  EXPECT_EQ(header(stored, "x-amz-checksum-crc64nvme"), "");
  const Response part = request("PUT", part_address({{"x-amz-checksum-algorithm", "CRC64NVME"}}),
                                kToken, {{"x-amz-checksum-crc64nvme", kWrong}});
  EXPECT_EQ(part.status, 200);
  EXPECT_EQ(header(part, "x-amz-checksum-crc64nvme"), "");
  behave_as("spec");
  EXPECT_EQ(code(put(kToken, {{"x-amz-checksum-crc64nvme", kWrong}})), "BadDigest") << "control";
}

}  // namespace
}  // namespace s3rdmafs::target
