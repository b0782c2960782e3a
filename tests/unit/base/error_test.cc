// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/error.h"

#include <gtest/gtest.h>

namespace s3rdmafs {
namespace {

TEST(Error, EndsWithItsAdviceWherePrintedAsOneText) {
  const Error error =
      fail_with_advice(ErrorCode::kNoMemory, "2 GiB are not left", "lower it").error();
  EXPECT_EQ(error.detail, "2 GiB are not left; lower it");
  EXPECT_EQ(error.advice, "lower it");
  EXPECT_EQ(error.problem(), "2 GiB are not left");
}

TEST(Error, KeepsItsAdviceApartUnderContext) {
  const Error inner = fail_with_advice(ErrorCode::kNoMemory, "a; b", "lower it").error();
  const Error error = fail_with_context("/mnt", inner).error();
  EXPECT_EQ(error.detail, "/mnt: a; b; lower it");
  EXPECT_EQ(error.problem(), "/mnt: a; b");
  EXPECT_EQ(error.advice, "lower it");
}

TEST(Error, WithoutAdviceIsAllProblem) {
  const Error error = fail(ErrorCode::kNotFound, "no such key; or none any more").error();
  EXPECT_EQ(error.problem(), "no such key; or none any more");
  EXPECT_TRUE(error.advice.empty());
}

}  // namespace
}  // namespace s3rdmafs
