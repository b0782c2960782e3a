// SPDX-License-Identifier: Apache-2.0
#include "fuse/kernel/kernel_settings.h"

#include <gtest/gtest.h>

#include "fakes/log_capture.h"

namespace s3rdmafs::fuse {
namespace {

TEST(BackgroundGranted, CapsOthersThanRootAtTheUserLimit) {
  EXPECT_EQ(background_granted(128, /*privileged=*/false, 64), 64U);
  EXPECT_EQ(background_granted(128, /*privileged=*/false, 7866), 128U);
}

TEST(BackgroundGranted, GivesRootWhatItAsksFor) {
  EXPECT_EQ(background_granted(128, /*privileged=*/true, 64), 128U);
}

TEST(BackgroundGranted, TakesAnUnknownLimitForNone) {
  EXPECT_EQ(background_granted(128, /*privileged=*/false, std::nullopt), 128U);
}

TEST(RequestBytesGranted, AreWhatTheSysctlAllowsUpTo4MiB) {
  EXPECT_EQ(request_bytes_granted(512, 4096), 2 * kMiB);
  EXPECT_EQ(request_bytes_granted(1024, 4096), 4 * kMiB);
  EXPECT_EQ(request_bytes_granted(65535, 4096), 4 * kMiB);
  EXPECT_EQ(request_bytes_granted(65535, 65536), 4 * kMiB) << "no overflow with large pages";
}

TEST(RequestBytesGranted, Are256PagesWhereTheKernelHasNoSysctl) {
  EXPECT_EQ(request_bytes_granted(std::nullopt, 4096), kMiB);
}

TEST(KernelReadAhead, StaysAsItIsWhereTheMountHasNoneOrIsNotThere) {
  const fakes::LogCapture log;
  raise_kernel_read_ahead("/proc");
  EXPECT_EQ(log.lines_with("read_ahead_kb").size(), 1U);
  raise_kernel_read_ahead("/nowhere/at/all");
  EXPECT_EQ(log.lines_with("read_ahead_kb").size(), 1U);
}

}  // namespace
}  // namespace s3rdmafs::fuse
