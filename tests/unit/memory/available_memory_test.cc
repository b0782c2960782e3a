// SPDX-License-Identifier: Apache-2.0
#include "memory/available_memory.h"

#include <unistd.h>

#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace s3rdmafs::memory {
namespace {

// A /proc and a /sys with what a test writes into them.
class AvailableMemoryTest : public testing::Test {
 protected:
  AvailableMemoryTest()
      : root_(std::filesystem::path(testing::TempDir()) /
              ("available_memory." + std::to_string(::getpid()))) {}
  ~AvailableMemoryTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  [[nodiscard]] std::uint64_t available() const { return available_memory_bytes(root_); }

  const std::filesystem::path root_;
};

TEST_F(AvailableMemoryTest, IsWhatTheMachineHasAvailable) {
  write("proc/meminfo",
        "MemTotal:       1000 kB\nMemFree:         10 kB\nMemAvailable:    400 kB\n");
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(available(), 400U * 1024);
}

TEST_F(AvailableMemoryTest, IsLessWhereAControlGroupAboveLeavesLess) {
  write("proc/meminfo", "MemAvailable:    400 kB\n");
  write("proc/self/cgroup", "1:name=systemd:/x\n0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/memory.max", "100000\n");
  write("sys/fs/cgroup/job/memory.current", "50000\n");
  EXPECT_EQ(available(), 50'000U);

  write("sys/fs/cgroup/job/memory.stat", "anon 20000\ninactive_file 20000\nactive_file 10000\n");
  EXPECT_EQ(available(), 80'000U) << "the page cache gives way";
}

TEST_F(AvailableMemoryTest, IsLessWhereAControlGroupOfVersion1LeavesLess) {
  write("proc/meminfo", "MemAvailable:    400 kB\n");
  write("proc/self/cgroup", "12:cpu,cpuacct:/cpu\n7:hugetlb,memory:/docker/x\n0::/unified\n");
  write("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "100000\n");
  write("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", "50000\n");
  write("sys/fs/cgroup/memory/docker/x/memory.stat",
        "active_file 1\ntotal_inactive_file 20000\ntotal_active_file 10000\n");
  EXPECT_EQ(available(), 80'000U);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(available(), 80'000U) << "what is unlimited limits nothing";
  write("sys/fs/cgroup/memory/cpu/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(available(), 80'000U) << "the group of another controller";
}

TEST_F(AvailableMemoryTest, IsLessInAContainerThatSeesItsOwnGroupOfVersion1Only) {
  write("proc/self/cgroup", "7:memory:/docker/of-the-host\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "100000\n");
  EXPECT_EQ(available(), 100'000U);
}

TEST_F(AvailableMemoryTest, IsNothingWhereAControlGroupIsFull) {
  write("proc/self/cgroup", "0::/job\n");
  write("sys/fs/cgroup/job/memory.max", "1000\n");
  write("sys/fs/cgroup/job/memory.current", "1001\n");
  EXPECT_EQ(available(), 0U);
}

TEST_F(AvailableMemoryTest, IsTheLargestNumberWhereNothingIsKnown) {
  EXPECT_EQ(available(), std::numeric_limits<std::uint64_t>::max());
}

TEST(AvailableMemory, IsKnownOnThisMachine) {
  EXPECT_GT(available_memory_bytes(), 0U);
  EXPECT_LT(available_memory_bytes(), std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace s3rdmafs::memory
