// SPDX-License-Identifier: Apache-2.0
#include "vfs/files/open_trace.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"

namespace s3rdmafs::vfs {
namespace {

using std::chrono::milliseconds;

class OpenTraceTest : public testing::Test {
 protected:
  void open(const std::string& key) {
    trace_.note({.key = key, .etag = "\"1\"", .size_bytes = 7, .modified = {}});
  }

  fakes::FakeClock clock_;
  OpenTrace trace_{clock_};
};

TEST_F(OpenTraceTest, TellsOpensInTheirOrderSinceTheRecordingBegan) {
  open("before");
  const auto recording = trace_.begin();
  ASSERT_TRUE(recording);
  clock_.advance(milliseconds(20));
  open("b");
  open("a");
  const auto first = trace_.take(*recording);
  ASSERT_TRUE(first);
  ASSERT_EQ(first->opened.size(), 2U);
  EXPECT_EQ(first->opened[0].version.key, "b");
  EXPECT_EQ(first->opened[0].version.etag, "\"1\"");
  EXPECT_EQ(first->opened[0].version.size_bytes, 7U);
  EXPECT_EQ(first->opened[0].at, milliseconds(20));
  EXPECT_EQ(first->opened[1].version.key, "a");
  EXPECT_TRUE(trace_.take(*recording)->opened.empty()) << "each open is told once";
}

TEST_F(OpenTraceTest, HasOneRecorderAtATime) {
  const auto recording = trace_.begin();
  ASSERT_TRUE(recording);
  const auto second = trace_.begin();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
  trace_.end(*recording);
  EXPECT_FALSE(trace_.take(*recording));
  EXPECT_TRUE(trace_.begin());
}

TEST_F(OpenTraceTest, EndsARecordingWhoseRecorderIsGone) {
  const auto recording = trace_.begin();
  clock_.advance(OpenTrace::kSilenceMax);
  open("a");
  EXPECT_EQ(trace_.take(*recording)->opened.size(), 1U) << "it is not gone yet";
  clock_.advance(OpenTrace::kSilenceMax + milliseconds(1));
  open("b");
  EXPECT_FALSE(trace_.take(*recording));
  const auto next = trace_.begin();
  ASSERT_TRUE(next);
  trace_.end(*recording);
  open("c");
  EXPECT_EQ(trace_.take(*next)->opened.size(), 1U) << "the end of an older one changes nothing";
}

TEST_F(OpenTraceTest, CountsOpensThatFindNoRoom) {
  const auto recording = trace_.begin();
  for (std::size_t i = 0; i < OpenTrace::kWaitingMax + 2; ++i) open("key");
  const auto taken = trace_.take(*recording);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->opened.size(), OpenTrace::kWaitingMax);
  EXPECT_EQ(taken->lost, 2U);
  open("key");
  EXPECT_EQ(trace_.take(*recording)->opened.size(), 1U) << "there is room again";
}

}  // namespace
}  // namespace s3rdmafs::vfs
