// SPDX-License-Identifier: Apache-2.0
#include "config/nearest_name.h"

#include <vector>

#include <gtest/gtest.h>

namespace s3rdmafs::config {
namespace {

const std::vector<std::string> kNames = {"uid", "size", "deadline", "window_max"};

TEST(DidYouMean, FindsANameWithATypingError) {
  EXPECT_EQ(did_you_mean("deadlien", kNames), "; did you mean deadline?");
  EXPECT_EQ(did_you_mean("windowmax", kNames), "; did you mean window_max?");
  EXPECT_EQ(did_you_mean("iud", kNames), "") << "two of three letters are no typing error";
  EXPECT_EQ(did_you_mean("uidd", kNames), "; did you mean uid?");
}

TEST(DidYouMean, SaysNothingWhereNothingIsNear) {
  EXPECT_EQ(did_you_mean("elephant", kNames), "");
  EXPECT_EQ(did_you_mean("", kNames), "");
  EXPECT_EQ(did_you_mean(std::string(1000, 'x'), kNames), "");
  EXPECT_EQ(did_you_mean("size", {}), "");
}

}  // namespace
}  // namespace s3rdmafs::config
