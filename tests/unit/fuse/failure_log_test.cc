// SPDX-License-Identifier: Apache-2.0
#include "fuse/failure_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/log_capture.h"

namespace s3rdmafs::fuse {
namespace {

using testing::HasSubstr;

class FailureLogTest : public testing::Test {
 protected:
  void fail(ErrorCode code, int times = 1) {
    for (int i = 0; i < times; ++i) failures_.report({code, "GET 'a': HTTP 500"});
  }
  std::size_t lines(const std::string& text) { return log_.lines_with(text).size(); }

  fakes::LogCapture log_;
  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  FailureLog failures_{clock_, metrics_};
};

TEST_F(FailureLogTest, SaysTheReasonAndTheErrno) {
  fail(ErrorCode::kServerError);
  fail(ErrorCode::kNoCredentials);
  EXPECT_EQ(lines("fuse: request failed: GET 'a': HTTP 500; its program gets EIO"), 1U);
  EXPECT_EQ(lines("its program gets EACCES"), 1U);
  EXPECT_EQ(metrics_.counter("fuse_errors_total", "").value(), 2U);
}

TEST_F(FailureLogTest, IsSilentWhereTheCallExplainsTheError) {
  fail(ErrorCode::kNotFound);
  fail(ErrorCode::kExists);
  fail(ErrorCode::kStale);
  fail(ErrorCode::kCancelled);
  EXPECT_EQ(lines("failed"), 0U);
}

TEST_F(FailureLogTest, TakesAFewLinesOfAStormAndTellsTheRest) {
  fail(ErrorCode::kServerError, 1000);
  EXPECT_EQ(lines("request failed"), FailureLog::kLinesMax);
  clock_.advance(FailureLog::kWindow);
  EXPECT_EQ(lines("more requests"), 0U);
  fail(ErrorCode::kServerError, 2);
  EXPECT_EQ(lines("fuse: 990 more requests failed before"), 1U);
  EXPECT_EQ(lines("request failed"), FailureLog::kLinesMax + 2);
}

}  // namespace
}  // namespace s3rdmafs::fuse
