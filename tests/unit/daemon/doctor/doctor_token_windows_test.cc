// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/doctor/probes/token_windows.h"

namespace s3rdmafs::daemon::doctor {
namespace {

using config::DcTokenForm;
using testing::HasSubstr;

constexpr std::string_view kDcToken =
    "00007f0000001000:00001000:00001234:0000:001330:1:00000000000000000000ffffc0000201";

TEST(DoctorTokenWindows, AreReadFromTokensOfNics) {
  ASSERT_EQ(kDcToken.size(), 81U);
  const auto dc = window_of(kDcToken, DcTokenForm::k81);
  ASSERT_TRUE(dc);
  EXPECT_EQ(dc->address, 0x7f0000001000U);
  EXPECT_EQ(dc->rkey, 0x1234U);

  const auto rc = window_of(
      "rc:0123456789abcdef0123456789abcdef:00007f0000002000:00001000:00005678", DcTokenForm::k81);
  ASSERT_TRUE(rc);
  EXPECT_EQ(rc->address, 0x7f0000002000U);
  EXPECT_EQ(rc->rkey, 0x5678U);
}

TEST(DoctorTokenWindows, AreReadFromEncodedTokens) {
  const auto window = window_of(
      "MDAwMDdmMDAwMDAwMTAwMDowMDAwMTAwMDowMDAwMTIzNDowMDAwOjAwMTMzMDoxOjAwMDAwMDAwMDAwMDAwMDAwMDAw"
      "ZmZmZmMwMDAwMjAx",
      DcTokenForm::kBase64);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->rkey, 0x1234U);
}

TEST(DoctorTokenWindows, AreNotReadFromOtherTokens) {
  EXPECT_FALSE(window_of("shm:0:1:2", DcTokenForm::k81));
  EXPECT_FALSE(window_of("", DcTokenForm::k81));
  EXPECT_FALSE(window_of("no base64", DcTokenForm::kBase64));
  std::string spoiled(kDcToken);
  spoiled[3] = 'x';
  EXPECT_FALSE(window_of(spoiled, DcTokenForm::k81));
}

TEST(DoctorFence, FailsWhereAnOldTokenStaysValid) {
  const Finding same = judge_fence({{0x1000, 7}, {0x1000, 7}}, 4096);
  EXPECT_EQ(same.level, Level::kFail);
  EXPECT_THAT(same.seen, HasSubstr("an old token stays valid"));
  // Not of the fence before, but of the one before that.
  EXPECT_EQ(judge_fence({{0x1000, 7}, {0x9000, 8}, {0x1fff, 7}}, 4096).level, Level::kFail);
}

TEST(DoctorFence, NotesThatKeysComeAgainWhereAddressesDiffer) {
  const Finding reused = judge_fence({{0x1000, 7}, {0x2000, 7}}, 4096);
  EXPECT_EQ(reused.level, Level::kNote);
  EXPECT_THAT(reused.seen, HasSubstr("the NIC reuses keys"));
}

TEST(DoctorFence, PassesWhereEachFenceMakesANewKey) {
  EXPECT_EQ(judge_fence({{0x1000, 7}, {0x1000, 8}, {0x1000, 9}}, 4096).level, Level::kPass);
}

}  // namespace
}  // namespace s3rdmafs::daemon::doctor
