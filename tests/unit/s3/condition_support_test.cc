// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/condition_support.h"

#include <gtest/gtest.h>

namespace s3rdmafs::s3 {
namespace {

TEST(ConditionSupport, OneCallerProbesAndTheOthersAskMeanwhile) {
  using Header = ConditionSupport::Header;
  ConditionSupport support;
  EXPECT_TRUE(support.begin_probe(ConditionKind::kPut));
  EXPECT_FALSE(support.begin_probe(ConditionKind::kPut));
  EXPECT_FALSE(support.compares(ConditionKind::kPut, Header::kMatches));
  support.on_probe_lost(ConditionKind::kPut);
  EXPECT_TRUE(support.begin_probe(ConditionKind::kPut)) << "nothing was learned";
  support.on_compared(ConditionKind::kPut, Header::kMatches);
  EXPECT_TRUE(support.compares(ConditionKind::kPut, Header::kMatches));
  EXPECT_TRUE(support.compares(ConditionKind::kPut, Header::kAbsent)) << "servers learned it first";
  EXPECT_FALSE(support.compares(ConditionKind::kDelete, Header::kMatches)) << "each kind by itself";
  EXPECT_FALSE(support.begin_probe(ConditionKind::kCopy)) << "it would move bytes";
}

TEST(ConditionSupport, JudgesIfMatchByItself) {
  using Header = ConditionSupport::Header;
  ConditionSupport support;
  support.on_compared(ConditionKind::kPut, Header::kAbsent);
  support.on_refused(ConditionKind::kPut, Header::kMatches);
  EXPECT_TRUE(support.compares(ConditionKind::kPut, Header::kAbsent));
  EXPECT_FALSE(support.refuses(ConditionKind::kPut, Header::kAbsent));
  EXPECT_FALSE(support.compares(ConditionKind::kPut, Header::kMatches));
  EXPECT_TRUE(support.refuses(ConditionKind::kPut, Header::kMatches));
}

}  // namespace
}  // namespace s3rdmafs::s3
