// SPDX-License-Identifier: Apache-2.0
// The rc dialect's text, against what its first server and client were seen to send
// (s3rdmafs-protocol(7)).
#include "s3rdmafs/rdma/rc_wire.h"

#include <gtest/gtest.h>

namespace s3rdmafs::rdma::rc {
namespace {

std::string with_zeros(std::string text) { return text.append(88 - text.size(), '0'); }

Endpoint endpoint(std::uint32_t number, std::array<std::uint8_t, 4> address) {
  Endpoint made{.queue_pair_number = number, .gid = {}, .port = 1};
  made.gid[10] = made.gid[11] = 0xff;
  std::copy(address.begin(), address.end(), made.gid.begin() + 12);
  return made;
}

// Vectors 12 and 13.
constexpr const char* kSeenRequest =
    "011400000000000000000000000000ffff0a00020f0000000000000000000000000000000000000000010000";
constexpr const char* kSeenReply =
    "200:011500000000000000000000000000ffff0a00020f0000000000000000000000000000000000000000010000";

TEST(RcEndpoint, IsWrittenAsTheFirstClientAndServerDid) {
  EXPECT_EQ(format_endpoint(endpoint(0x14, {10, 0, 2, 15})), kSeenRequest);
  EXPECT_EQ(format_reply(endpoint(0x15, {10, 0, 2, 15})), kSeenReply);
}

TEST(RcEndpoint, IsReadBack) {
  EXPECT_EQ(parse_endpoint(kSeenRequest), endpoint(0x14, {10, 0, 2, 15}));
  EXPECT_EQ(parse_reply(kSeenReply), endpoint(0x15, {10, 0, 2, 15}));
  // Vector 1: memory fields are of no interest.
  const auto of_hipobject = parse_endpoint(
      "012a00000000000000000000000000000000000000efbeadde00100000007f00000010000000000000010000");
  ASSERT_TRUE(of_hipobject);
  EXPECT_EQ(of_hipobject->queue_pair_number, 42U);
  // Vector 6: so is the rest after it.
  EXPECT_TRUE(parse_endpoint(std::string(kSeenRequest) + ":00007f0000001000:0000000000001000"));
  EXPECT_EQ(parse_reply("200:" + with_zeros("0163"))->queue_pair_number, 99U);  // vector 4
}

TEST(RcEndpoint, RefusesMalformedText) {
  EXPECT_FALSE(parse_endpoint(std::string(88, '0'))) << "transport 0 is DC";
  EXPECT_FALSE(parse_endpoint(std::string(kSeenRequest).substr(1)));
  EXPECT_FALSE(parse_endpoint(std::string(kSeenRequest) + "0"));
  EXPECT_FALSE(parse_endpoint(std::string(87, '1') + "g"));
  EXPECT_FALSE(parse_reply(kSeenRequest)) << "without 200:";
  EXPECT_FALSE(parse_reply("206:" + std::string(kSeenRequest)));
  EXPECT_FALSE(parse_reply(std::string(kSeenReply) + ":1"));
}

TEST(RcPsn, IsOneToSixDigitsAndNeverZero) {
  EXPECT_EQ(format_psn(0x660fb8), "660fb8");
  EXPECT_EQ(format_psn(1), "000001");
  EXPECT_EQ(parse_psn("1"), 1U);
  EXPECT_EQ(parse_psn("FFFFFE"), kPsnMax);
  for (const char* wrong : {"", "0", "000000", "1000000", "0x1", "zzzzzz", " 1"}) {
    EXPECT_FALSE(parse_psn(wrong)) << wrong;
  }
}

// Vector 14.
TEST(RcObjectToken, IsWrittenAsTheFirstClientDid) {
  const ObjectToken token{.session_id = "ba6288ffa254eeaa9c2deff497aae8c0",
                          .address = 0x7f221e8f1000,
                          .size_bytes = 0x301000,
                          .rkey = 0x6a8};
  const std::string text = format_object_token(token);
  EXPECT_EQ(text, "rc:ba6288ffa254eeaa9c2deff497aae8c0:00007f221e8f1000:00301000:000006a8");
  EXPECT_EQ(text.size(), 70U);
  EXPECT_EQ(parse_object_token(text), token);
}

TEST(RcObjectToken, IsReadInAnyWidthButNothingElse) {
  const std::string id = "ba6288ffa254eeaa9c2deff497aae8c0";
  EXPECT_TRUE(parse_object_token("rc:" + id + ":A000:10:1"));
  EXPECT_TRUE(parse_object_token("rc:" + id + ":0:100000000:ffffffff"));
  for (const std::string& wrong :
       {"rc:" + id + ":a000:10", "rc:" + id + ":a000:10:", "rc:" + id + ":a000:10:123456789",
        "rc:" + id + ":a000:10:1:2", "rc:" + id.substr(1) + ":a000:10:1", "dc:" + id + ":0:1:1",
        "rc:" + id + ":ffffffffffffffff:2:1", "rc:" + id + ":-1:10:1", std::string()}) {
    EXPECT_FALSE(parse_object_token(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace s3rdmafs::rdma::rc
