// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/process/numa_node.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

namespace fs = std::filesystem;

class NumaNode : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "numa_node_test.XXXXXX";
    sys_ = ::mkdtemp(pattern.data());
    add_node(0);
    add_node(1);
    fs::create_directories(sys_ / "devices/system/node/power");
  }
  void TearDown() override { fs::remove_all(sys_); }

  void add_node(unsigned node) const {
    fs::create_directories(sys_ / "devices/system/node" / ("node" + std::to_string(node)));
  }
  void add_device(const std::string& name, const std::string& node) const {
    const fs::path device = sys_ / "class/infiniband" / name / "device";
    fs::create_directories(device);
    std::ofstream(device / "numa_node") << node << "\n";
  }
  std::optional<unsigned> choose(std::string_view rails = "auto",
                                 std::string_view fabric = "dc") const {
    return node_of_devices(fabric, rails, sys_);
  }

  fs::path sys_;
};

TEST_F(NumaNode, IsThatOfTheDevice) {
  add_device("mlx5_0", "1");
  EXPECT_EQ(choose(), 1U);
  EXPECT_EQ(choose("auto", "rc"), 1U);
}

TEST_F(NumaNode, IsThatOfAllDevicesUsed) {
  add_device("mlx5_0", "1");
  add_device("mlx5_1", "1");
  add_device("mlx5_2", "0");
  EXPECT_EQ(choose("mlx5_0,mlx5_1:2"), 1U);
  EXPECT_EQ(choose("mlx5_2"), 0U);
  EXPECT_EQ(choose("mlx5_0,mlx5_2"), std::nullopt) << "they are on several";
  EXPECT_EQ(choose(), std::nullopt);
}

TEST_F(NumaNode, ARailNamedByAddressMayBeAnyDevice) {
  add_device("mlx5_0", "1");
  EXPECT_EQ(choose("192.0.2.7"), 1U);
  EXPECT_EQ(choose("2001:db8::7"), 1U);
  add_device("mlx5_1", "0");
  EXPECT_EQ(choose("mlx5_0,192.0.2.7"), std::nullopt);
}

TEST_F(NumaNode, IsNoneWhereNothingSaysWhich) {
  EXPECT_EQ(choose(), std::nullopt) << "no device";
  add_device("mlx5_0", "-1");
  EXPECT_EQ(choose(), std::nullopt) << "the firmware does not say";
}

TEST_F(NumaNode, IsNoneOnAMachineWithOneNode) {
  add_device("mlx5_0", "0");
  EXPECT_EQ(choose(), 0U) << "the control";
  fs::remove_all(sys_ / "devices/system/node/node1");
  EXPECT_EQ(choose(), std::nullopt);
}

TEST_F(NumaNode, IsNoneWhereNoDeviceMovesTheBytes) {
  add_device("mlx5_0", "1");
  EXPECT_EQ(choose("auto", "shm"), std::nullopt);
  EXPECT_EQ(choose("auto", "none"), std::nullopt);
}

// The policy of a new thread (get_mempolicy(2)), or -1.
int policy_of_a_new_thread() {
  int policy = -1;
  std::jthread([&policy] {
    int mode = 0;
    if (::syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0) == 0) {
      policy = mode & ~MPOL_MODE_FLAGS;
    }
  }).join();
  return policy;
}

class PreferNodeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (policy_of_a_new_thread() < 0) GTEST_SKIP() << "no get_mempolicy(2) here, as in qemu-user";
  }
};

TEST_F(PreferNodeTest, IsForThreadsThatAreStartedMeanwhile) {
  ASSERT_EQ(policy_of_a_new_thread(), MPOL_DEFAULT);
  {
    const PreferNode preferred(0);
    EXPECT_EQ(policy_of_a_new_thread(), MPOL_PREFERRED);
  }
  EXPECT_EQ(policy_of_a_new_thread(), MPOL_DEFAULT);
}

TEST_F(PreferNodeTest, LeavesThePolicyOfWhoStartedUs) {
  const PreferNode of_the_starter(0);
  {
    const PreferNode ours(0);
  }
  EXPECT_EQ(policy_of_a_new_thread(), MPOL_PREFERRED);
}

TEST_F(PreferNodeTest, DoesNothingWithoutANodeOrWhereThereIsNoSuchNode) {
  for (const std::optional<unsigned> node : {std::optional<unsigned>(), {1023U}, {5000U}}) {
    const PreferNode preferred(node);
    EXPECT_EQ(policy_of_a_new_thread(), MPOL_DEFAULT);
  }
}

}  // namespace
}  // namespace s3rdmafs::daemon
