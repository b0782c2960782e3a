// SPDX-License-Identifier: Apache-2.0
// Which port a mount uses, decided on descriptions of machines that are not here.
#include "s3rdmafs/rdma/rdma_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::rdma::verbs {
namespace {

using testing::HasSubstr;

PortInfo port_with(std::vector<std::pair<std::string, GidType>> gids, bool is_active = true) {
  PortInfo port{.number = 1,
                .link_layer = LinkLayer::kEthernet,
                .is_active = is_active,
                .state = is_active ? "active" : "down",
                .active_mtu_bytes = 1024,
                .lid = 0,
                .gids = {}};
  for (const auto& [address, type] : gids) {
    port.gids.push_back({.index = static_cast<unsigned>(port.gids.size()),
                         .gid = gid_of_address(address).value(),
                         .type = type,
                         .network_device = "eth0"});
  }
  return port;
}

const std::vector<DeviceInfo> kTwoRails = {
    {.name = "mlx5_0",
     .node_guid = {},
     .ports = {port_with({{"fe80::1", GidType::kRoceV1},
                          {"fe80::1", GidType::kRoceV2},
                          {"10.0.0.1", GidType::kRoceV1},
                          {"10.0.0.1", GidType::kRoceV2}})}},
    {.name = "mlx5_1",
     .node_guid = {},
     .ports = {port_with({{"fe80::2", GidType::kRoceV2}, {"10.1.0.1", GidType::kRoceV2}})}}};

TEST(ChoosePort, TakesThePortOnTheRouteAndItsRoceV2Entry) {
  const auto on_first = choose_port(kTwoRails, {}, "10.0.0.1");
  ASSERT_TRUE(on_first);
  EXPECT_EQ(on_first->device, "mlx5_0");
  EXPECT_EQ(on_first->gid_index, 3U);
  EXPECT_EQ(choose_port(kTwoRails, {}, "10.1.0.1")->device, "mlx5_1");
}

TEST(ChoosePort, GuessesNothingWhereNoPortIsOnTheRoute) {
  const auto none = choose_port(kTwoRails, {}, "192.0.2.1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(none.error().detail, HasSubstr("192.0.2.1"));
  EXPECT_THAT(none.error().detail, HasSubstr("10.1.0.1")) << "what there is";
  EXPECT_THAT(none.error().detail, HasSubstr("rdma.rails")) << "what to do";
}

TEST(ChoosePort, TakesAnyPortToThisVeryHost) {
  const auto any = choose_port(kTwoRails, {}, "127.0.0.1");
  ASSERT_TRUE(any);
  EXPECT_EQ(any->device, "mlx5_0");
  EXPECT_EQ(any->gid_index, 3U) << "RoCE v2 with an IP address before link-local and v1";
}

TEST(ChoosePort, TakesThePortThatTheMountFileNames) {
  EXPECT_EQ(choose_port(kTwoRails, parse_rail("mlx5_1", std::nullopt), "10.0.0.1")->device,
            "mlx5_1");
  EXPECT_EQ(choose_port(kTwoRails, parse_rail("10.1.0.1", std::nullopt), "10.0.0.1")->device,
            "mlx5_1");
  EXPECT_EQ(choose_port(kTwoRails, parse_rail("mlx5_0:1,mlx5_1", 1U), "10.0.0.1")->gid_index, 1U);
  EXPECT_FALSE(choose_port(kTwoRails, parse_rail("mlx5_0:2", std::nullopt), "10.0.0.1"));
  EXPECT_FALSE(choose_port(kTwoRails, parse_rail("mlx5_7", std::nullopt), "10.0.0.1"));
}

TEST(ChoosePort, NamesTheEntryOfTheGidTableThatIsEmpty) {
  const auto none = choose_port(kTwoRails, parse_rail("mlx5_0", 7U), "10.0.0.1");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().detail, HasSubstr("entry 7 of its GID table (rdma.gid_index)"));
}

TEST(ChoosePort, LeavesOutPortsThatAreDown) {
  std::vector<DeviceInfo> devices = kTwoRails;
  devices[0].ports = {port_with({{"10.0.0.1", GidType::kRoceV2}}, /*is_active=*/false)};
  EXPECT_FALSE(choose_port(devices, {}, "10.0.0.1"));
  EXPECT_THAT(choose_port({}, {}, "10.0.0.1").error().detail, HasSubstr("no RDMA device"));
}

TEST(Gid, IsTheTextOfAnAddressAndBack) {
  for (const char* address : {"10.0.2.15", "fe80::5054:ff:fe12:3456", "2001:db8::1"}) {
    EXPECT_EQ(address_of_gid(gid_of_address(address).value()), address);
  }
  EXPECT_EQ(gid_of_address("fe80::1%eth0"), gid_of_address("fe80::1"));
  EXPECT_FALSE(gid_of_address("mlx5_0"));
  EXPECT_FALSE(gid_of_address("mlx5_0:1"));
}

TEST(SourceAddress, OfThisHostIsItsLoopback) {
  EXPECT_EQ(source_address_towards("127.0.0.1", 9000), "127.0.0.1");
  EXPECT_FALSE(source_address_towards("no-such-host.invalid", 9000));
}

}  // namespace
}  // namespace s3rdmafs::rdma::verbs
