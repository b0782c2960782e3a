// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/warm_display.h"

#include <cstdlib>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

class WarmDisplayTest : public testing::Test {
 protected:
  ~WarmDisplayTest() override {
    std::fclose(out_);
    std::free(text_);
  }
  void make(bool is_terminal) {
    display_ = std::make_unique<WarmDisplay>(out_, is_terminal, begin_);
  }
  void take(std::string_view line, int after_seconds) {
    display_->take(line, begin_ + seconds(after_seconds));
  }
  std::string shown() {
    std::fflush(out_);
    return {text_, size_};
  }

  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* out_ = ::open_memstream(&text_, &size_);
  const std::chrono::steady_clock::time_point begin_{};
  std::unique_ptr<WarmDisplay> display_;
};

TEST_F(WarmDisplayTest, ATerminalShowsOneLineThatIsRedrawn) {
  make(true);
  take("found 4 4294967296", 0);
  take("progress 1 1073741824", 1);
  take("progress 2 2147483648", 2);
  EXPECT_THAT(shown(), HasSubstr("1/4 objects, 1.0 GiB of 4.0 GiB, 1.07 GB/s\r\x1b[K2/4 objects"));
  EXPECT_THAT(shown(), Not(HasSubstr("\n")));
}

TEST_F(WarmDisplayTest, AFileGetsALineEveryFewSeconds) {
  make(false);
  take("found 4 4294967296", 0);
  for (int second = 1; second <= 6; ++second) take("progress 1 1073741824", second);
  EXPECT_EQ(shown(), "1/4 objects, 1.0 GiB of 4.0 GiB, 0.21 GB/s\n");
}

TEST_F(WarmDisplayTest, TheLastLineSumsUp) {
  make(false);
  for (const char* line : {"accepted", "found 3 3000000000", "fetched 2 2000000000",
                           "were_there 1 1000000000", "no_room 0 0 1", "failed 0"}) {
    take(line, 0);
  }
  EXPECT_FALSE(display_->has_ended());
  take("end", 2);
  EXPECT_TRUE(display_->is_whole());
  display_->finish(begin_ + seconds(2));
  EXPECT_EQ(
      shown(),
      "3 objects resident, 2.8 GiB; 1 already were; fetched 2, 1.9 GiB in 2.0 s, 1.00 GB/s\n");
}

TEST_F(WarmDisplayTest, SeveralAnswersAreSummedUpTogether) {
  display_ = std::make_unique<WarmDisplay>(out_, false, begin_, "read into the cache");
  for (const char* line : {"found 2 2000000000", "fetched 2 2000000000", "end"}) take(line, 0);
  display_->next_answer();
  EXPECT_FALSE(display_->has_ended()) << "the second may yet be cut short";
  take("found 1 1000000000", 1);
  take("progress 0 500000000", 6);
  for (const char* line : {"fetched 1 1000000000", "end"}) take(line, 10);
  display_->finish(begin_ + seconds(10));
  EXPECT_EQ(shown(),
            "2/3 objects, 2.3 GiB of 2.8 GiB, 0.42 GB/s\n"
            "3 objects read into the cache, 2.8 GiB; fetched 3, 2.8 GiB in 10.0 s, 0.30 GB/s\n");
}

TEST_F(WarmDisplayTest, AnyProblemMakesItNotWhole) {
  for (const char* line : {"problem a: it is gone", "no_room 1 10 100", "failed 1", "error no"}) {
    make(false);
    take(line, 0);
    take("end", 1);
    EXPECT_TRUE(display_->has_ended());
    EXPECT_FALSE(display_->is_whole()) << line;
  }
}

TEST_F(WarmDisplayTest, NamesAndErrorsCannotControlTheTerminal) {
  make(true);
  testing::internal::CaptureStderr();
  take("problem \x1b]0;title\a caf\xc3\xa9\r: gone\x7f", 0);
  take("error no\x1b[2J \xc2\x9b", 0);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "s3rdmafs: \\x1b]0;title\\x07 caf\xc3\xa9\\r: gone\\x7f\ns3rdmafs: no\\x1b[2J \\u009b\n");
}

TEST_F(WarmDisplayTest, AnAnswerCutShortIsNotWhole) {
  make(false);
  take("found 1 1", 0);
  EXPECT_FALSE(display_->is_whole());
}

TEST_F(WarmDisplayTest, AReleaseShowsItsAmount) {
  make(false);
  take("released 1 1048576", 0);
  take("end", 0);
  EXPECT_EQ(shown(), "released 1 object, 1.0 MiB\n");
  EXPECT_TRUE(display_->is_whole());
}

}  // namespace
}  // namespace s3rdmafs::daemon
