// SPDX-License-Identifier: Apache-2.0
// How long the kernel waited for its answers.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_mount.h"

namespace s3rdmafs::fuse {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

/// Whether the text of the metrics comes to hold `part`: a duration is counted just after the
/// kernel has its answer.
bool comes_to_show(const FakeMount& mount, const std::string& part) {
  return fakes::eventually(
      [&] { return mount.metrics.prometheus_text().find(part) != std::string::npos; });
}

TEST(OperationTimes, AreCountedByOperationAndReadsBySize) {
  FakeMount mount;
  mount.store.put("a", std::string(200'000, 'x'));
  const vfs::Ino ino = mount.ino_of("a");
  const std::uint64_t handle = mount.open(ino);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(mount.call(request::read(ino, handle, 0, 100'000)).error, 0);
  }
  EXPECT_EQ(mount.call(request::read(ino, handle, 0, 4096)).error, 0);
  EXPECT_TRUE(
      comes_to_show(mount, R"(fuse_operation_seconds_count{operation="read",size="<=1MiB"} 3)"));
  EXPECT_TRUE(
      comes_to_show(mount, R"(fuse_operation_seconds_count{operation="read",size="<=4KiB"} 1)"));
  EXPECT_TRUE(comes_to_show(mount, R"(fuse_operation_seconds_count{operation="open"} 1)"));
  EXPECT_TRUE(comes_to_show(mount, R"(fuse_operation_seconds_count{operation="lookup"} 1)"));
  EXPECT_THAT(mount.metrics.prometheus_text(), Not(HasSubstr(R"(operation="write")")));
}

TEST(OperationTimes, AreThoseUntilTheAnswerWhateverThreadGivesIt) {
  FakeMount mount;
  mount.store.hold();
  const auto id = mount.kernel.send(request::lookup(kRoot, "absent"));
  ASSERT_TRUE(fakes::eventually([&] { return !mount.store.held().empty(); }));
  mount.clock.advance(milliseconds(250));
  mount.store.release_all();
  EXPECT_EQ(mount.kernel.await(id).error, 0);
  EXPECT_TRUE(
      comes_to_show(mount, R"(fuse_operation_seconds_bucket{operation="lookup",le="0.262144"} 1)"));
  EXPECT_THAT(mount.metrics.prometheus_text(),
              HasSubstr(R"(fuse_operation_seconds_bucket{operation="lookup",le="0.24576"} 0)"));
}

}  // namespace
}  // namespace s3rdmafs::fuse
