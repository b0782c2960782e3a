// SPDX-License-Identifier: Apache-2.0
#include "fuse/copy_guess.h"

#include <fcntl.h>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"

namespace s3rdmafs::fuse {
namespace {

using std::chrono::milliseconds;

constexpr pid_t kThread = 4711;
constexpr vfs::Ino kSource = 100;
constexpr vfs::Ino kCopy = 101;

class CopyGuessTest : public testing::Test {
 protected:
  fakes::FakeClock clock_;
  CopyGuess guess_{clock_};
};

TEST_F(CopyGuessTest, IsThatAThreadThatHasJustOpenedAFileCopiesIt) {
  EXPECT_FALSE(guess_.creates_copy(kThread, O_WRONLY | O_EXCL)) << "it has opened none";
  guess_.on_open_to_read(kThread, kSource);
  clock_.advance(CopyGuess::kOpenToOpen);
  EXPECT_TRUE(guess_.creates_copy(kThread, O_WRONLY | O_EXCL));
  EXPECT_TRUE(guess_.replaces_by_copy(kThread, kCopy));
  clock_.advance(milliseconds(1));
  EXPECT_FALSE(guess_.creates_copy(kThread, O_WRONLY | O_EXCL)) << "too long ago";
  EXPECT_FALSE(guess_.replaces_by_copy(kThread, kCopy));
}

TEST_F(CopyGuessTest, IsNotThatAFileIsCopiedWhichIsCreatedAsMostProgramsDo) {
  guess_.on_open_to_read(kThread, kSource);
  EXPECT_FALSE(guess_.creates_copy(kThread, O_WRONLY | O_TRUNC));
  EXPECT_FALSE(guess_.creates_copy(kThread, O_WRONLY));
  EXPECT_FALSE(guess_.replaces_by_copy(kThread, kSource)) << "nor one that it reads and writes";
}

TEST_F(CopyGuessTest, IsOfOneThreadAlone) {
  guess_.on_open_to_read(kThread, kSource);
  EXPECT_FALSE(guess_.replaces_by_copy(kThread + 1, kCopy));
  EXPECT_FALSE(guess_.replaces_by_copy(kThread + 256, kCopy)) << "in the same place";
  guess_.on_open_to_read(kThread + 256, kSource);
  EXPECT_FALSE(guess_.replaces_by_copy(kThread, kCopy)) << "forgotten";
  EXPECT_TRUE(guess_.replaces_by_copy(kThread + 256, kCopy)) << "the control";
}

TEST_F(CopyGuessTest, IsOfNoThreadThatTheMountDoesNotSee) {
  guess_.on_open_to_read(0, kSource);
  EXPECT_FALSE(guess_.replaces_by_copy(0, kCopy))
      << "all of another PID namespace have this number";
}

TEST_F(CopyGuessTest, HoldsOverTheEndOfItsClock) {
  clock_.advance(milliseconds(std::int64_t{1} << 32) - milliseconds(10));
  guess_.on_open_to_read(kThread, kSource);
  clock_.advance(milliseconds(100));
  EXPECT_TRUE(guess_.replaces_by_copy(kThread, kCopy));
}

}  // namespace
}  // namespace s3rdmafs::fuse
