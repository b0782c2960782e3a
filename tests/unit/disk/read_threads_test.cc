// SPDX-License-Identifier: Apache-2.0
#include "disk/read_threads.h"

#include <future>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"

namespace s3rdmafs::disk {
namespace {

constexpr std::chrono::milliseconds kPatience{50};
constexpr std::chrono::seconds kSoon{30};

/// One thread, which hangs on the disk until it is let go.
class ReadThreadsTest : public testing::Test {
 protected:
  void SetUp() override {
    ReadThreads::Job hang = [this](Scratch*) {
      began_.set_value();
      let_go_.get_future().wait();
    };
    ASSERT_TRUE(threads_.try_post(hang));
    began_.get_future().wait();
  }
  ReadThreads::Job job() {
    return [this](Scratch* scratch) { ++(scratch != nullptr ? read_ : given_up_); };
  }

  fakes::FakeClock clock_;
  std::promise<void> began_;
  std::promise<void> let_go_;
  std::atomic<int> read_{0};
  std::atomic<int> given_up_{0};
  ReadThreads threads_{clock_, {.threads = 1, .queue_max = 2, .patience = kPatience}};
};

TEST_F(ReadThreadsTest, AJobThatWaitedTooLongIsGivenUpWhileTheDiskHangs) {
  std::promise<bool> late_reads;
  ReadThreads::Job late = [&](Scratch* scratch) { late_reads.set_value(scratch != nullptr); };
  ASSERT_TRUE(threads_.try_post(late));
  clock_.advance(kPatience + std::chrono::milliseconds(1));
  ReadThreads::Job fresh = job();
  ASSERT_TRUE(threads_.try_post(fresh));
  auto answer = late_reads.get_future();
  EXPECT_EQ(answer.wait_for(kSoon), std::future_status::ready);
  EXPECT_EQ(given_up_, 0) << "the control: it has not waited for long";
  let_go_.set_value();
  EXPECT_FALSE(answer.get());
  threads_.finish();  // before what its jobs use goes
}

// The watch looks once in kPatience. So it gives up the first job, and the reading thread the
// second.
TEST_F(ReadThreadsTest, AJobThatWaitedTooLongIsNotReadWhenTheDiskIsBack) {
  std::promise<void> watched;
  ReadThreads::Job first = [&](Scratch*) { watched.set_value(); };
  ASSERT_TRUE(threads_.try_post(first));
  clock_.advance(kPatience / 2);
  ReadThreads::Job late = job();
  ASSERT_TRUE(threads_.try_post(late));
  clock_.advance(kPatience / 2 + std::chrono::milliseconds(1));
  ASSERT_EQ(watched.get_future().wait_for(kSoon), std::future_status::ready);
  EXPECT_EQ(given_up_, 0) << "the control: it had not waited for long";

  clock_.advance(kPatience * 3 / 5);
  std::promise<void> done;
  ReadThreads::Job fresh = [&](Scratch* scratch) {
    read_ += scratch != nullptr ? 1 : 0;
    done.set_value();
  };
  ASSERT_TRUE(threads_.try_post(fresh));
  let_go_.set_value();
  EXPECT_EQ(done.get_future().wait_for(kSoon), std::future_status::ready);
  EXPECT_EQ(given_up_, 1);
  EXPECT_EQ(read_, 1) << "the control: the job after it";
  threads_.finish();  // before what its jobs use goes
}

TEST_F(ReadThreadsTest, AFullQueueLeavesTheJobWithTheCaller) {
  for (int i = 0; i < 2; ++i) {
    ReadThreads::Job queued = job();
    ASSERT_TRUE(threads_.try_post(queued));
  }
  ReadThreads::Job refused = job();
  EXPECT_FALSE(threads_.try_post(refused));
  refused(nullptr);
  EXPECT_EQ(given_up_, 1);
  let_go_.set_value();
}

TEST_F(ReadThreadsTest, TheEndCallsEveryJob) {
  ReadThreads::Job queued = job();
  ASSERT_TRUE(threads_.try_post(queued));
  let_go_.set_value();
  threads_.finish();
  EXPECT_EQ(read_ + given_up_, 1);
  ReadThreads::Job late = job();
  EXPECT_FALSE(threads_.try_post(late));
}

}  // namespace
}  // namespace s3rdmafs::disk
