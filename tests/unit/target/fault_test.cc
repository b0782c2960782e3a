// SPDX-License-Identifier: Apache-2.0
#include "target/faults/fault.h"

#include <set>

#include <gtest/gtest.h>

#include "target/faults/faults.h"

namespace s3rdmafs::target {
namespace {

Fault parsed(std::string_view text) {
  const auto fault = parse_fault(text);
  EXPECT_TRUE(fault) << text << ": " << (fault ? "" : fault.error().detail);
  return fault.value_or(Fault{});
}

TEST(Fault, IsReadWithItsArgumentAndItsTime) {
  const Fault late = parsed("late-write:50ms@get@3");
  EXPECT_EQ(late.kind, FaultKind::kLateWrite);
  EXPECT_EQ(late.argument, 50);
  EXPECT_EQ(late.operation, FaultOperation::kGet);
  EXPECT_FALSE(late.strikes(2));
  EXPECT_TRUE(late.strikes(3));
  EXPECT_FALSE(late.strikes(4));
}

TEST(Fault, StrikesAlwaysUnlessTold) {
  const Fault fault = parsed("no-reply");
  EXPECT_FALSE(fault.operation);
  EXPECT_TRUE(fault.strikes(1));
  EXPECT_TRUE(fault.strikes(2));
}

TEST(Fault, StrikesFromARequestOnOrEveryFew) {
  EXPECT_FALSE(parsed("cut-after@2+").strikes(1));
  EXPECT_TRUE(parsed("cut-after@2+").strikes(3));
  EXPECT_FALSE(parsed("cut-after@/3").strikes(2));
  EXPECT_TRUE(parsed("cut-after@/3").strikes(6));
}

TEST(Fault, TakesEachKindOfArgument) {
  EXPECT_EQ(parsed("delay-answer:2s").argument, 2000);
  EXPECT_EQ(parsed("truncate:4KiB").argument, 4096);
  EXPECT_EQ(parsed("wrong-count:-7").argument, -7);
  EXPECT_EQ(parsed("wrong-count:+7").argument, 7);
  EXPECT_EQ(parsed("wrong-count").argument, -1);
}

TEST(Fault, SaysWhatItWouldHaveTaken) {
  for (const char* bad : {"", "late", "late-write:50", "decline:1", "wrong-count:x", "decline@",
                          "decline@0", "decline@head", "decline@/2+", "truncate:1MB"}) {
    EXPECT_FALSE(parse_fault(bad)) << bad;
  }
  EXPECT_NE(parse_fault("late").error().detail.find("late-write"), std::string::npos);
}

TEST(Fault, HasANameForEachKind) {
  std::set<std::string_view> names;
  for (const FaultDescription& kind : fault_descriptions()) {
    names.insert(kind.name);
    EXPECT_EQ(parsed(kind.name).kind, kind.kind);
  }
  EXPECT_EQ(names.size(), kFaultKinds);
}

TEST(Faults, CountRequestsOfTheirOperationOnly) {
  metrics::Registry registry;
  Faults faults(registry);
  ASSERT_TRUE(faults.replace_by_text("cut-after@put@2\nwrong-count:5\n"));
  EXPECT_FALSE(faults.plan(FaultOperation::kPut).has(FaultKind::kCutAfter));
  EXPECT_FALSE(faults.plan(FaultOperation::kGet).has(FaultKind::kCutAfter));
  const FaultPlan second = faults.plan(FaultOperation::kPut);
  EXPECT_TRUE(second.has(FaultKind::kCutAfter));
  EXPECT_EQ(second.argument(FaultKind::kWrongCount), 5);
  EXPECT_EQ(registry.counter("target_faults_total", "", R"(kind="wrong-count")").value(), 3U);
  EXPECT_EQ(registry.counter("target_faults_total", "", R"(kind="cut-after")").value(), 1U);
}

TEST(Faults, StayAsTheyAreWhereALineIsWrong) {
  metrics::Registry registry;
  Faults faults(registry);
  ASSERT_TRUE(faults.replace_by_text("no-reply"));
  EXPECT_FALSE(faults.replace_by_text("decline\nnonsense"));
  EXPECT_TRUE(faults.plan(FaultOperation::kGet).has(FaultKind::kNoReply));
  ASSERT_TRUE(faults.replace_by_text(""));
  EXPECT_FALSE(faults.plan(FaultOperation::kGet).has(FaultKind::kNoReply));
}

TEST(Faults, MakeNoRequestWaitOnceTheServerEnds) {
  metrics::Registry registry;
  Faults faults(registry);
  faults.stop();
  faults.wait(std::chrono::hours(1));  // the test's own time-out is the check
}

}  // namespace
}  // namespace s3rdmafs::target
