// SPDX-License-Identifier: Apache-2.0
#include "rdma/mlx5/find_rails.h"

#include <cerrno>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/rdma/recording_verbs.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

using fakes::FakeGid;
using fakes::FakePort;
using fakes::kLinkLocal;
using testing::HasSubstr;

const FakeGid kIpv6{.raw = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}};

FakeGid ipv4(std::uint8_t last, ibv_gid_type type = IBV_GID_TYPE_ROCE_V2) {
  return {.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, last}, .type = type};
}

/// Every network device leads everywhere, unless the test says otherwise.
class FakeRoutes final : public verbs::RouteQuery {
 public:
  struct Question {
    unsigned device;
    verbs::Gid source;
    verbs::Gid destination;
  };

  Answer ask(unsigned device, const verbs::Gid& source, const verbs::Gid& destination) override {
    questions.push_back({.device = device, .source = source, .destination = destination});
    if (leads_to.contains({device, verbs::address_of_gid(destination)})) return Answer::kLeadsThere;
    return elsewhere.contains(device) ? Answer::kLeadsElsewhere : Answer::kLeadsThere;
  }

  std::set<unsigned> elsewhere;
  std::set<std::pair<unsigned, std::string>> leads_to;  ///< exceptions of `elsewhere`
  std::vector<Question> questions;
};

class FindRailsTest : public ::testing::Test {
 protected:
  /// "mlx5_0:1/3 mlx5_1:1", with the index of the GID after the "/", or the error.
  std::string rails(std::string_view text, std::optional<unsigned> gid_index = {}) {
    return rails({.ports = text, .gid_index = gid_index});
  }
  std::string rails(const RailWish& wish) {
    const auto found = find_rails(wish, routes_);
    if (!found) return found.error().detail;
    std::string names;
    for (const RailPort& rail : *found) {
      names += (names.empty() ? "" : " ") + rail.name();
      if (rail.gid_index) names += "/" + std::to_string(*rail.gid_index);
    }
    return names;
  }

  /// mlx5_0's ports belong to the network devices 11 and 12.
  void give_network_devices() {
    for (const unsigned port : {1U, 2U}) {
      verbs_.change_port("mlx5_0", port, [port](FakePort& changed) {
        for (FakeGid& gid : changed.gids) gid.interface_index = 10 + port;
      });
    }
  }

  FakeRoutes routes_;
  // As the kernel lays it out: each address as RoCE v1 and then as v2.
  fakes::RecordingVerbs verbs_{
      {{.name = "mlx5_0",
        .ports = {{.gids = {kLinkLocal, kIpv6, ipv4(1, IBV_GID_TYPE_ROCE_V1), ipv4(1)}},
                  {.gids = {kLinkLocal, kIpv6}}}},
       {.name = "mlx5_1",
        .ports = {{.lid = 7, .link_layer = IBV_LINK_LAYER_INFINIBAND, .gids = {kLinkLocal}}}},
       {.name = "mlx5_2", .ports = {{.state = IBV_PORT_DOWN, .gids = {ipv4(2)}}}},
       {.name = "mlx5_3", .ports = {FakePort{}}},
       {.name = "rxe0", .ports = {{.gids = {ipv4(3)}}}, .is_mlx5 = false}}};
};

TEST_F(FindRailsTest, TakesEveryActivePortOfEveryConnectXByItself) {
  EXPECT_EQ(rails("auto"), "mlx5_0:1/3 mlx5_0:2/1 mlx5_1:1/0")
      << "neither a port that is down, nor RoCE without a GID, nor another maker's device";
}

TEST_F(FindRailsTest, TakesDevicesPortsAndAddressesInTheOrderGiven) {
  EXPECT_EQ(rails("mlx5_1,mlx5_0:2,192.0.2.1"), "mlx5_1:1/0 mlx5_0:2/1 mlx5_0:1/3");
  EXPECT_EQ(rails("mlx5_2"), "mlx5_2:1/0") << "down, but asked for: it may come up";
  EXPECT_EQ(rails("2001:db8::7"), "mlx5_0:1/1");
}

TEST_F(FindRailsTest, TakesTheGidThatIsConfiguredOnInfiniBandToo) {
  EXPECT_EQ(rails("mlx5_0,mlx5_1", 1), "mlx5_0:1/1 mlx5_1:1/1");
}

// Every public client sends this: the LID and the port's own GID.
TEST_F(FindRailsTest, TakesThePortsOwnGidOnInfiniBandUnlessTheLidAloneIsWanted) {
  EXPECT_EQ(rails("mlx5_1"), "mlx5_1:1/0");
  EXPECT_EQ(rails({.ports = "mlx5_0,mlx5_1", .lid_alone_on_infiniband = true}),
            "mlx5_0:1/3 mlx5_1:1")
      << "RoCE has no other way than a GID";
  EXPECT_EQ(rails({.ports = "mlx5_1", .gid_index = 0, .lid_alone_on_infiniband = true}),
            "mlx5_1:1/0")
      << "a number is a number";
}

// --- By route ---

TEST_F(FindRailsTest, TakesOnlyPortsThatLeadToAnEndpoint) {
  give_network_devices();
  const RailWish wish{.endpoints = {verbs::gid_of_address("198.51.100.1").value()}};
  EXPECT_EQ(rails(wish), "mlx5_0:1/3 mlx5_0:2/1 mlx5_1:1/0") << "the control: all lead there";
  routes_.elsewhere.insert(12);
  EXPECT_EQ(rails(wish), "mlx5_0:1/3 mlx5_1:1/0") << "of InfiniBand's port nothing is known";
  ASSERT_FALSE(routes_.questions.empty());
  EXPECT_EQ(routes_.questions[0].device, 11U);
  EXPECT_EQ(verbs::address_of_gid(routes_.questions[0].source), "192.0.2.1");
  EXPECT_EQ(verbs::address_of_gid(routes_.questions[0].destination), "198.51.100.1");
}

TEST_F(FindRailsTest, TakesAPortThatLeadsToOneOfSeveralEndpoints) {
  give_network_devices();
  routes_.elsewhere = {11, 12};
  routes_.leads_to = {{12, "198.51.100.2"}};
  EXPECT_EQ(rails({.endpoints = {verbs::gid_of_address("198.51.100.1").value(),
                                 verbs::gid_of_address("198.51.100.2").value()}}),
            "mlx5_0:2/1 mlx5_1:1/0");
}

TEST_F(FindRailsTest, TakesEveryPortWhereNoneLeadsToAnEndpoint) {
  give_network_devices();
  verbs_.change_port("mlx5_1", 1, [](FakePort& port) { port.state = IBV_PORT_DOWN; });
  routes_.elsewhere = {11, 12};
  EXPECT_EQ(rails({.endpoints = {verbs::gid_of_address("198.51.100.1").value()}}),
            "mlx5_0:1/3 mlx5_0:2/1");
}

TEST_F(FindRailsTest, AsksForNoRouteWherePortsAreNamedOrNoEndpointIsKnown) {
  give_network_devices();
  routes_.elsewhere = {11, 12};
  EXPECT_EQ(rails("auto"), "mlx5_0:1/3 mlx5_0:2/1 mlx5_1:1/0");
  EXPECT_EQ(
      rails({.ports = "mlx5_0:2", .endpoints = {verbs::gid_of_address("198.51.100.1").value()}}),
      "mlx5_0:2/1");
  EXPECT_TRUE(routes_.questions.empty());
}

TEST_F(FindRailsTest, TakesAPortWhoseNetworkDeviceIsNotKnown) {
  routes_.elsewhere = {0, 11, 12};
  EXPECT_EQ(rails({.endpoints = {verbs::gid_of_address("198.51.100.1").value()}}),
            "mlx5_0:1/3 mlx5_0:2/1 mlx5_1:1/0");
}

TEST_F(FindRailsTest, LeavesOutEmptyEntriesOfTheGidTable) {
  verbs_.change_port("mlx5_0", 2, [](FakePort& port) { port.gids = {FakeGid{}, kLinkLocal}; });
  verbs_.change_port("mlx5_3", 1, [](FakePort& port) { port.gids = {FakeGid{}}; });
  EXPECT_EQ(rails("auto"), "mlx5_0:1/3 mlx5_0:2/1 mlx5_1:1/0");
}

TEST_F(FindRailsTest, NamesARailThatDoesNotExist) {
  EXPECT_THAT(rails("mlx5_0,mlx5_9"), HasSubstr("there is no 'mlx5_9'"));
  EXPECT_THAT(rails("mlx5_0:3"), HasSubstr("ConnectX are mlx5_0:1, mlx5_0:2, mlx5_1:1"));
  EXPECT_THAT(rails("mlx5_0:x"), HasSubstr("there is no 'mlx5_0:x'"));
  EXPECT_THAT(rails("rxe0"), HasSubstr("there is no 'rxe0'"));
  EXPECT_THAT(rails("192.0.2.9"), HasSubstr("has the address 192.0.2.9"));
  EXPECT_THAT(rails("192.0.2.3"), HasSubstr("has the address 192.0.2.3")) << "of no ConnectX";
}

// In a container the kernel lists the whole machine's devices, and only some may be opened.
TEST_F(FindRailsTest, LeavesOutADeviceThatCannotBeOpenedOrQueried) {
  verbs_.fail_next("mlx5_0", "ibv_open_device", EPERM);
  EXPECT_EQ(rails("auto"), "mlx5_1:1/0");
  verbs_.fail_next("mlx5_1", "ibv_query_device", EIO);
  EXPECT_EQ(rails("auto"), "mlx5_0:1/3 mlx5_0:2/1");
  verbs_.fail_next("mlx5_0", "ibv_open_device", EPERM);
  EXPECT_EQ(rails("mlx5_1"), "mlx5_1:1/0") << "another one is named";
  EXPECT_EQ(verbs_.live_objects(), 0);
}

TEST_F(FindRailsTest, FailsWhereADeviceThatIsNamedCannotBeOpened) {
  verbs_.fail_next("mlx5_1", "ibv_open_device", EPERM);
  EXPECT_THAT(rails("mlx5_0,mlx5_1"), HasSubstr("'mlx5_1' cannot be used: open mlx5_1: Operation"));
  verbs_.fail_next("mlx5_0", "ibv_open_device", EPERM);
  EXPECT_THAT(rails("192.0.2.1"), HasSubstr("not usable: open mlx5_0: Operation not permitted"))
      << "the address may be that device's";
}

TEST_F(FindRailsTest, NamesEveryDeviceWithItsCauseWhereNoneIsLeft) {
  verbs_.fail_next("mlx5_0", "ibv_open_device", EPERM);
  verbs_.fail_next("mlx5_1", "ibv_query_device", EIO);
  const std::string error = rails("auto");
  EXPECT_THAT(error, HasSubstr("open mlx5_0: Operation not permitted"));
  EXPECT_THAT(error, HasSubstr("query mlx5_1: Input/output error"));
}

TEST_F(FindRailsTest, LeavesNoDeviceOpen) {
  static_cast<void>(rails("auto"));
  static_cast<void>(rails("mlx5_9"));
  EXPECT_EQ(verbs_.live_objects(), 0);
}

TEST(FindRails, ReportsAMachineWithoutAConnectX) {
  const fakes::RecordingVerbs verbs({});
  FakeRoutes routes;
  const auto found = find_rails({}, routes);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace s3rdmafs::rdma::mlx5
