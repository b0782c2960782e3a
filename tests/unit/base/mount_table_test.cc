// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/mount_table.h"

#include <gtest/gtest.h>

namespace s3rdmafs {
namespace {

TEST(MountTable, ReadsPointsDevicesTypesAndRights) {
  const auto table = parse_mount_table(
      "36 35 98:0 /mnt1 /mnt/a\\040b rw,noatime master:1 shared:2 - ext3 /dev/root rw\n"
      "37 35 0:52 / /run/x ro,nosuid - fuse.s3rdma /etc/x.toml rw,user_id=0\n");
  ASSERT_EQ(table.size(), 2U);
  EXPECT_EQ(table[0].point, "/mnt/a b");
  EXPECT_EQ(table[0].device, "98:0");
  EXPECT_FALSE(table[0].read_only);
  EXPECT_FALSE(is_ours(table[0]));
  EXPECT_EQ(table[1].type, "fuse.s3rdma");
  EXPECT_EQ(table[1].source, "/etc/x.toml");
  EXPECT_TRUE(table[1].read_only);
  EXPECT_TRUE(is_ours(table[1]));
}

TEST(MountTable, LeavesOutWhatItCannotRead) {
  EXPECT_TRUE(parse_mount_table("").empty());
  EXPECT_TRUE(
      parse_mount_table("36 35 98:0\n\n- - -\n36 35 0:1 / /x rw shared:1 ext3 y z\n").empty());
  EXPECT_TRUE(parse_mount_table("36 35 0:1 / /x rw - ext3\n").empty());
}

TEST(MountTable, HasTheMountsOfThisProcessAndFailsForOneThatEnded) {
  const auto proc = mount_on("/proc");
  ASSERT_TRUE(proc) << proc.error().detail;
  ASSERT_TRUE(*proc);
  EXPECT_EQ((*proc)->type, "proc");
  const auto none = mount_on("/proc/self");
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  EXPECT_FALSE(mount_table_of("/proc/0"));
}

}  // namespace
}  // namespace s3rdmafs
