// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/process/background.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/mount/process/private_memory.h"

namespace s3rdmafs::daemon {
namespace {

using testing::HasSubstr;

// The report of `mount` about this daemon.
std::string outcome_of(const Service& service) {
  const auto result = run_in_background(service);
  return result ? "ready" : result.error().detail;
}

TEST(Background, AServiceThatIsReadyOrFailsSaysSo) {
  EXPECT_EQ(outcome_of([](const auto& ready) -> Result<void> {
              ready();
              return {};
            }),
            "ready");
  EXPECT_EQ(outcome_of([](const auto&) -> Result<void> {
              return fail(ErrorCode::kSystem, "no such bucket");
            }),
            "no such bucket");
}

// Or else an automount's mount waits for itself, see background.cc.
TEST(Background, AServiceLeavesItsProcessGroupOnlyWhenItIsReady) {
  const pid_t group = ::getpgrp();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(outcome_of([&](const auto& ready) -> Result<void> {
              if (::getpgrp() != group) return fail(ErrorCode::kSystem, "too early");
              ready();
              const char has_left = ::getpgrp() != group ? 'y' : 'n';
              if (::write(ends[1], &has_left, 1) != 1) ::abort();
              return {};
            }),
            "ready");
  ::close(ends[1]);
  char has_left = 0;
  EXPECT_EQ(::read(ends[0], &has_left, 1), 1);
  EXPECT_EQ(has_left, 'y');
  ::close(ends[0]);
}

TEST(Background, AnExceptionBeforeItIsReadyIsReported) {
  EXPECT_THAT(outcome_of([](const auto&) -> Result<void> { throw std::bad_alloc(); }),
              HasSubstr("memory ran out"));
  EXPECT_THAT(outcome_of([](const auto&) -> Result<void> { throw std::runtime_error("a bug"); }),
              HasSubstr("a bug"));
}

TEST(Background, AnExceptionInAThreadIsReported) {
  EXPECT_THAT(outcome_of([](const auto&) -> Result<void> {
                std::thread([] { throw std::bad_alloc(); }).join();
                return {};
              }),
              HasSubstr("memory ran out"));
}

TEST(Background, AKilledDaemonIsReportedWithItsSignal) {
  EXPECT_THAT(outcome_of([](const auto&) -> Result<void> {
                ::raise(SIGKILL);
                return {};
              }),
              HasSubstr("signal 9"));
}

TEST(Background, AProcessWithSecretsCannotBeTraced) {
  EXPECT_EQ(outcome_of([](const auto&) -> Result<void> {
              const int before = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
              keep_memory_private();
              const int after = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
              return fail(ErrorCode::kSystem, std::to_string(before) + " " + std::to_string(after));
            }),
            "1 0");
}

}  // namespace
}  // namespace s3rdmafs::daemon
