// SPDX-License-Identifier: Apache-2.0
// What is found on machines that are not here, and which port of theirs a mount then uses.
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/rdma/recording_verbs.h"
#include "s3rdmafs/rdma/rdma_devices.h"

namespace s3rdmafs::rdma::verbs {
namespace {

using testing::HasSubstr;

fakes::FakeDevice device_with_address(const std::string& name, const std::string& address) {
  return {.name = name, .ports = {{.gids = {{.raw = gid_of_address(address).value()}}}}};
}

class ListDevicesTest : public ::testing::Test {
 protected:
  fakes::RecordingVerbs verbs_{
      {device_with_address("mlx5_0", "192.0.2.1"), device_with_address("mlx5_1", "192.0.2.2")}};
};

// In a container the kernel lists the whole machine's devices, and only some may be opened.
TEST_F(ListDevicesTest, HasTheOthersWhereOneCannotBeOpened) {
  verbs_.fail_next("mlx5_0", "ibv_open_device", EPERM);
  const auto devices = list_devices();
  ASSERT_TRUE(devices) << devices.error().detail;
  ASSERT_EQ(devices->size(), 2U);
  EXPECT_EQ((*devices)[0].hindrance, "cannot be opened: Operation not permitted");
  EXPECT_TRUE((*devices)[0].ports.empty());
  EXPECT_EQ((*devices)[1].hindrance, "");
  EXPECT_EQ(choose_port(*devices, {}, "192.0.2.2").value().device, "mlx5_1");
}

TEST_F(ListDevicesTest, HasTheOthersWhereOneCannotBeQueried) {
  verbs_.fail_next("mlx5_1", "ibv_query_device", EIO);
  const auto devices = list_devices();
  ASSERT_TRUE(devices) << devices.error().detail;
  EXPECT_EQ(devices->back().hindrance, "cannot be queried: Input/output error");
  EXPECT_EQ(choose_port(*devices, {}, "192.0.2.1").value().device, "mlx5_0");
  EXPECT_EQ(verbs_.live_objects(), 0);
}

TEST_F(ListDevicesTest, NamesEveryDeviceWithItsCauseWhereNoneIsLeft) {
  verbs_.fail_next("mlx5_0", "ibv_open_device", EPERM);
  verbs_.fail_next("mlx5_1", "ibv_query_device", EIO);
  const auto devices = list_devices();
  ASSERT_TRUE(devices) << devices.error().detail;
  const auto port = choose_port(*devices, {}, "192.0.2.1");
  ASSERT_FALSE(port);
  EXPECT_THAT(port.error().detail, HasSubstr("mlx5_0 (cannot be opened: Operation not permitted)"));
  EXPECT_THAT(port.error().detail, HasSubstr("mlx5_1 (cannot be queried: Input/output error)"));
}

TEST_F(ListDevicesTest, ReportsWhyADeviceThatIsNamedCannotBeUsed) {
  verbs_.fail_next("mlx5_1", "ibv_open_device", EPERM);
  const auto devices = list_devices();
  ASSERT_TRUE(devices) << devices.error().detail;
  const auto port = choose_port(*devices, parse_rail("mlx5_1", std::nullopt), "192.0.2.1");
  ASSERT_FALSE(port);
  EXPECT_THAT(port.error().detail, HasSubstr("mlx5_1 (cannot be opened"));
}

}  // namespace
}  // namespace s3rdmafs::rdma::verbs
