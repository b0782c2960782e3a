// SPDX-License-Identifier: Apache-2.0
#include "daemon/reload/hangup_listener.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include <gtest/gtest.h>

#include "fakes/eventually.h"

namespace s3rdmafs::daemon {
namespace {

// SIGHUP ends a process that does not hold it, so the test is its own control.
TEST(HangupListener, CallsForASignalThatCameBeforeAndForEachLaterOne) {
  hold_hangups();
  ::kill(::getpid(), SIGHUP);
  std::atomic<int> calls = 0;
  const HangupListener listener([&calls] { ++calls; });
  EXPECT_TRUE(fakes::eventually([&] { return calls == 1; }));
  ::kill(::getpid(), SIGHUP);
  EXPECT_TRUE(fakes::eventually([&] { return calls == 2; }));
}

}  // namespace
}  // namespace s3rdmafs::daemon
