// SPDX-License-Identifier: Apache-2.0
#include "target/behaviour/token_form.h"

#include <gtest/gtest.h>

namespace s3rdmafs::target {
namespace {

// The examples of s3rdmafs-protocol(7).
const std::string kExample =
    "0102030405060708:01020304:01020304:0102:010203:1:0102030405060708090a0b0c0d0e0f10";
const std::string kRealistic =
    "00007fffc3200000:00100000:00004d16:0000:00133f:1:fe80000000000000000000000012ab34";
const std::string kOfAnRcSession =
    "rc:ba6288ffa254eeaa9c2deff497aae8c0:00007f221e8f1000:00301000:000006a8";
// The form that AIStor needed before August 2026.
const std::string kWithSuffix = kRealistic + ":00007fffc3200000:0000000000100000";

TEST(TokenKind, IsToldByTheForm) {
  EXPECT_EQ(token_kind(kExample), TokenKind::kCuObject);
  EXPECT_EQ(token_kind(kWithSuffix), TokenKind::kCuObject);
  EXPECT_EQ(token_kind("1:2"), TokenKind::kCuObject);
  EXPECT_EQ(token_kind(kOfAnRcSession), TokenKind::kOwn);
  EXPECT_EQ(token_kind("shm:00"), TokenKind::kOwn);
  EXPECT_EQ(token_kind(std::string(88, 'a')), TokenKind::kHipObject);
  EXPECT_EQ(token_kind(std::string(88, 'a') + ":0000000000000000:0000000000000001"),
            TokenKind::kHipObject);
  EXPECT_EQ(token_kind("not-a-valid-token"), TokenKind::kUnknown);
  EXPECT_EQ(token_kind(""), TokenKind::kUnknown);
}

TEST(TokenForm, OpaqueTakesEverything) {
  EXPECT_EQ(token_fault(TokenForm::kOpaque, "anything"), "");
}

TEST(TokenForm, Length81LooksAtTheLengthOnlyAndNamesBoth) {
  EXPECT_EQ(token_fault(TokenForm::kLength81, kRealistic), "");
  EXPECT_EQ(token_fault(TokenForm::kLength81, std::string(81, 'x')), "");
  EXPECT_EQ(token_fault(TokenForm::kLength81, kWithSuffix),
            "The token has 115 characters, expected exactly 81.");
}

TEST(TokenForm, WidthsLooksAtEachField) {
  EXPECT_EQ(token_fault(TokenForm::kWidths, kExample), "");
  EXPECT_NE(token_fault(TokenForm::kWidths, kWithSuffix), "");
  std::string shifted = kExample;
  std::swap(shifted[15], shifted[16]);
  EXPECT_NE(token_fault(TokenForm::kWidths, shifted), "") << "a colon one place too early";
  std::string upper_case = kExample;
  upper_case.back() = 'A';
  EXPECT_NE(token_fault(TokenForm::kWidths, upper_case), "");
}

TEST(TokenForm, HipObjectHasThreeFields) {
  const std::string endpoint(88, 'a');
  EXPECT_EQ(token_fault(TokenForm::kHipObject, endpoint + ":00007f0000001000:0000000000001000"),
            "");
  for (const std::string& bad :
       {kExample, endpoint, endpoint + ":00007f0000001000",
        endpoint + ":00007f0000001000:0000000000001000:0", endpoint + ":7f0000001000:1000"}) {
    EXPECT_NE(token_fault(TokenForm::kHipObject, bad), "") << bad;
  }
}

TEST(TokenForm, TwoHexFieldsLooksNoFurther) {
  EXPECT_EQ(token_fault(TokenForm::kTwoHexFields, kExample), "");
  EXPECT_EQ(token_fault(TokenForm::kTwoHexFields, "1122334455667788:2000:whatever"), "");
  EXPECT_NE(token_fault(TokenForm::kTwoHexFields, "not-a-valid-token"), "");
  EXPECT_NE(token_fault(TokenForm::kTwoHexFields, "1122:size"), "");
}

}  // namespace
}  // namespace s3rdmafs::target
