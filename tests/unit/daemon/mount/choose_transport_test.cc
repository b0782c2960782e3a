// SPDX-License-Identifier: Apache-2.0
// On any machine, with or without FUSE over io_uring.
#include "daemon/mount/choose_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/log_capture.h"
#include "fuse/kernel/ring.h"

namespace s3rdmafs::daemon {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(ChooseTransport, AutoIsTheDeviceAndTellsOfTheAlternativeOnce) {
  const fakes::LogCapture log;
  EXPECT_EQ(choose_ring(config::Transport::kAuto), false);
  EXPECT_THAT(log.lines_with("mount.transport = \"uring\""), SizeIs(1));
}

TEST(ChooseTransport, TheDeviceWhereItIsAskedForIsNothingToTell) {
  const fakes::LogCapture log;
  EXPECT_EQ(choose_ring(config::Transport::kDev), false);
  EXPECT_THAT(log.lines_with(""), SizeIs(0));
}

TEST(ChooseTransport, RingsAreUsedWhereTheMachineHasThemAndElseRefusedWithAdvice) {
  const fuse::UringBlocker blocker = fuse::find_uring_blocker();
  const auto chosen = choose_ring(config::Transport::kUring);
  if (blocker.reason.empty()) {
    EXPECT_EQ(chosen, true);
    return;
  }
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(chosen.error().detail, HasSubstr(blocker.reason));
  EXPECT_THAT(chosen.error().detail, HasSubstr(blocker.advice));
}

}  // namespace
}  // namespace s3rdmafs::daemon
