// SPDX-License-Identifier: Apache-2.0
// Reply's phases: requests that are interrupted before, while and after they are answered, given up
// by the kernel, or dropped by a bug. The fake kernel checks that each gets one reply.
#include <fcntl.h>

#include <cerrno>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "fake_mount.h"
#include "fakes/log_capture.h"
#include "fuse/reply.h"

namespace s3rdmafs::fuse {
namespace {

class FuseInterrupt : public testing::Test {
 protected:
  FuseInterrupt() {
    mount_.store.put("a", "bytes");
    ino_ = mount_.ino_of("a");
    handle_ = mount_.open(ino_);
    read_ = request::read(ino_, handle_, 0, 5);
  }

  /// Sends a request that then waits for the store.
  FakeKernel::Id send_waiting(const FuseRequest& what, std::size_t calls_of_store) {
    mount_.store.hold();
    const auto id = mount_.kernel.send(what);
    EXPECT_TRUE(mount_.holds(calls_of_store));
    return id;
  }
  int error_after_interrupt(const FuseRequest& what, std::size_t calls_of_store) {
    const auto id = send_waiting(what, calls_of_store);
    mount_.kernel.interrupt(id);
    const int error = mount_.kernel.await(id).error;
    mount_.store.release_all();
    return error;
  }
  void expect_that_the_mount_works() {
    EXPECT_EQ(mount_.call(read_).body, "bytes") << "the control";
  }

  // One thread, which reads an INTERRUPT and its request in the order in which they were sent.
  FakeMount mount_{{.threads = 1}};
  vfs::Ino ino_ = 0;
  std::uint64_t handle_ = 0;
  FuseRequest read_;
};

TEST_F(FuseInterrupt, AReadThatWaitsIsAnsweredAtOnceAndItsLateBytesAreDropped) {
  EXPECT_EQ(error_after_interrupt(read_, 1), EINTR);
  expect_that_the_mount_works();
}

TEST_F(FuseInterrupt, AnInterruptThatOvertakesItsReadAnswersItWhenItBeginsToWait) {
  mount_.store.hold();
  const auto id = mount_.kernel.send_interrupted(read_);
  EXPECT_EQ(mount_.kernel.await(id).error, EINTR);
  ASSERT_TRUE(mount_.holds(1));
  mount_.store.release_all();
  expect_that_the_mount_works();
}

TEST_F(FuseInterrupt, AReadThatNeedNotWaitIsAnsweredAlthoughItWasInterrupted) {
  EXPECT_EQ(mount_.kernel.await(mount_.kernel.send_interrupted(read_)).body, "bytes");
}

TEST_F(FuseInterrupt, AnInterruptThatOvertakesAnInterruptibleRequestAnswersIt) {
  const auto id = mount_.kernel.send_interrupted(request::getattr(ino_));
  EXPECT_EQ(mount_.kernel.await(id).error, EINTR);
  EXPECT_EQ(mount_.call(request::getattr(ino_)).error, 0) << "the control";
}

TEST_F(FuseInterrupt, AnInterruptAfterTheReplyChangesNothing) {
  const auto id = mount_.kernel.send(read_);
  EXPECT_EQ(mount_.kernel.await(id).body, "bytes");
  mount_.kernel.interrupt(id);
  mount_.kernel.interrupt(id);
  expect_that_the_mount_works();
}

TEST_F(FuseInterrupt, ARequestThatIsInterruptedTwiceIsAnsweredOnce) {
  const auto id = send_waiting(read_, 1);
  mount_.kernel.interrupt(id);
  mount_.kernel.interrupt(id);
  EXPECT_EQ(mount_.kernel.await(id).error, EINTR);
  mount_.store.release_all();
  expect_that_the_mount_works();
}

TEST_F(FuseInterrupt, ALookupThatWasInterruptedKeepsNoReference) {
  mount_.store.put("b", "1");
  const auto before = mount_.gauge("vfs_inodes");
  EXPECT_EQ(error_after_interrupt(request::lookup(kRoot, "b"), 2), EINTR);
  EXPECT_EQ(mount_.gauge("vfs_inodes"), before);
}

TEST_F(FuseInterrupt, AListingThatWasInterruptedKeepsNoReferences) {
  const std::uint64_t directory = mount_.call(request::opendir(kRoot)).as<fuse_open_out>().fh;
  const FuseRequest list = request::readdir(kRoot, directory, 0, 4096, /*plus=*/true);
  EXPECT_EQ(error_after_interrupt(list, 1), EINTR);
  EXPECT_EQ(mount_.kernel.lookups(ino_), 1U);
  EXPECT_EQ(fakes::names_in(mount_.call(list).body, /*plus=*/true).size(), 3U);
  EXPECT_EQ(mount_.kernel.lookups(ino_), 2U) << "the control";
}

TEST_F(FuseInterrupt, AnOpenThatWasInterruptedIsUndone) {
  mount_.clock.advance(std::chrono::seconds(31));  // the version is to be confirmed
  EXPECT_EQ(error_after_interrupt(request::open(ino_, O_RDONLY), 1), EINTR);
  EXPECT_EQ(mount_.gauge("vfs_open_files"), 1) << "the one of before";
  EXPECT_EQ(mount_.kernel.open_files(), 1U);
}

TEST_F(FuseInterrupt, AChangeOfTheBucketGoesOnAndIsAnsweredWhenItIsDone) {
  for (const FuseRequest& change : {request::unlink(kRoot, "b"), request::mkdir(kRoot, "d")}) {
    mount_.store.put("b", "1");
    mount_.store.hold();
    const auto id = mount_.kernel.send(change);
    ASSERT_TRUE(fakes::eventually([this] { return !mount_.store.held().empty(); }));
    mount_.kernel.interrupt(id);
    EXPECT_EQ(mount_.call(request::statfs()).error, 0) << "the interrupt has been read";
    EXPECT_FALSE(mount_.kernel.is_answered(id)) << change.opcode;
    mount_.store.release_all();
    EXPECT_EQ(mount_.kernel.await(id).error, 0) << change.opcode;
  }
}

TEST_F(FuseInterrupt, AnInterruptThatOvertakesAChangeDoesNotAnswerItEither) {
  const auto id = mount_.kernel.send_interrupted(request::mkdir(kRoot, "d"));
  EXPECT_EQ(mount_.kernel.await(id).error, 0);
  EXPECT_TRUE(mount_.store.object("d/"));
}

TEST_F(FuseInterrupt, AnInterruptAndTheAnswerThatComeTogetherGiveOneReply) {
  int interrupted = 0;
  for (int round = 0; round < 200; ++round) {
    const auto id = send_waiting(read_, 1);
    std::thread interrupter([&] { mount_.kernel.interrupt(id); });
    mount_.store.release_all();
    interrupter.join();
    const FuseReply reply = mount_.kernel.await(id);
    if (reply.error == EINTR) {
      ++interrupted;
    } else {
      EXPECT_EQ(reply.body, "bytes");
    }
  }
  RecordProperty("interrupted", interrupted);
  expect_that_the_mount_works();
}

TEST_F(FuseInterrupt, AnAnswerThatComesWhileItsRequestIsMadeInterruptibleIsGivenOnce) {
  for (int round = 0; round < 200; ++round) {
    mount_.store.hold();
    std::thread server([this] {
      while (!mount_.store.release()) std::this_thread::yield();
    });
    const auto id =
        round % 2 == 0 ? mount_.kernel.send(read_) : mount_.kernel.send_interrupted(read_);
    const FuseReply reply = mount_.kernel.await(id);
    EXPECT_TRUE(reply.body == "bytes" || (round % 2 == 1 && reply.error == EINTR));
    server.join();
  }
}

TEST_F(FuseInterrupt, ARequestUnderWayWhenTheMountEndsGetsAReplyThatTheKernelRefuses) {
  const auto id = send_waiting(read_, 1);
  mount_.unmount();
  EXPECT_EQ(mount_.kernel.await(id).error, ECONNABORTED);
  mount_.store.release_all();
  EXPECT_TRUE(mount_.kernel.await_refusal(id)) << "the reply came, and the kernel refused it";
}

TEST(FuseReply, ARequestThatIsDroppedIsAnsweredWithAnErrorAndLogged) {
  const fakes::LogCapture log;
  {
    FakeMount mount;
    mount.store.put("a", "bytes");
    const vfs::Ino ino = mount.ino_of("a");
    const FuseRequest read = request::read(ino, mount.open(ino), 0, 5);
    mount.cache.drop_reads(true);
    EXPECT_EQ(mount.call(read).error, EIO);
    mount.cache.drop_reads(false);
    EXPECT_EQ(mount.call(read).body, "bytes") << "the control";
  }
  EXPECT_EQ(log.lines_with("without an answer").size(), 1U);
}

}  // namespace
}  // namespace s3rdmafs::fuse
