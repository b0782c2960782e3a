// SPDX-License-Identifier: Apache-2.0
// Verbs that take long, and devices that fail meanwhile: who waits for whom. Calls are held inside
// the recorded devices while the others have to go on.
#include <functional>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fakes/eventually.h"
#include "fakes/fake_clock.h"
#include "fakes/rdma/recording_verbs.h"
#include "rdma/mlx5/dc_fabric.h"
#include "rdma/mlx5/dc_token.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

using fakes::FakePort;

class DcSlowRailsTest : public ::testing::Test {
 protected:
  void open(std::vector<RailPort> rails) {
    fabric_ = make_dc_fabric({.rails = std::move(rails), .dc_key = 1}, clock_, metrics_).value();
  }
  std::unique_ptr<MemoryRegion> register_region() {
    return fabric_
        ->register_memory({.fd = -1, .offset_bytes = 0, .bytes = memory_}, Access::kRemoteWrite)
        .value();
  }
  std::future<std::unique_ptr<MemoryRegion>> register_elsewhere() {
    return std::async(std::launch::async, [this] { return register_region(); });
  }
  /// The last bytes of the addresses of the rails that tokens name.
  static std::set<int> rails_in_use(MemoryRegion& region) {
    std::set<int> rails;
    for (int i = 0; i < 4; ++i) {
      region.token(0, 64, Deadline::max(), [&rails](Result<Token> token) {
        if (!token) return;
        token->end(TokenFate::kAnswered);
        rails.insert(DcToken::parse(token->text(), DcTokenForm::k81)->target.gid.back());
      });
    }
    return rails;
  }
  void set_port_state(const std::string& device, ibv_port_state state) {
    verbs_.change_port(device, 1, [state](FakePort& port) { port.state = state; });
    verbs_.send_event(device,
                      state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
  }

  const std::vector<RailPort> one_rail_{{.device = "mlx5_0", .port = 1, .gid_index = 0}};
  const std::vector<RailPort> two_rails_{{.device = "mlx5_0", .port = 1, .gid_index = 0},
                                         {.device = "mlx5_1", .port = 1, .gid_index = 0}};
  fakes::RecordingVerbs verbs_{{{.name = "mlx5_0", .ports = {fakes::port_with_address(1)}},
                                {.name = "mlx5_1", .ports = {fakes::port_with_address(2)}}}};
  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
  std::unique_ptr<Fabric> fabric_;  // before its regions, which tests hold
};

TEST_F(DcSlowRailsTest, ARegistrationThatTakesLongKeepsNoOtherRegionWaiting) {
  open(two_rails_);
  const auto region = register_region();
  verbs_.hold_next("mlx5_0", "ibv_reg_mr");
  auto slow = register_elsewhere();
  ASSERT_TRUE(verbs_.wait_for_held("mlx5_0", "ibv_reg_mr"));

  EXPECT_EQ(rails_in_use(*region), (std::set{1, 2}));
  EXPECT_TRUE(region->fence());
  register_region().reset();
  EXPECT_TRUE(verbs_.is_held("mlx5_0", "ibv_reg_mr")) << "none of these waited for it";

  verbs_.let_go("mlx5_0", "ibv_reg_mr");
  EXPECT_EQ(rails_in_use(*slow.get()), (std::set{1, 2}));
}

TEST_F(DcSlowRailsTest, AFenceThatTakesLongKeepsNoOtherRegionWaiting) {
  open(two_rails_);
  const auto region = register_region();
  const auto other = register_region();
  verbs_.hold_next("mlx5_0", "ibv_dereg_mr");
  auto renewed = std::async(std::launch::async, [&] { return other->fence(); });
  ASSERT_TRUE(verbs_.wait_for_held("mlx5_0", "ibv_dereg_mr"));

  EXPECT_EQ(rails_in_use(*region), (std::set{1, 2}));
  EXPECT_TRUE(region->fence());
  register_region().reset();
  EXPECT_TRUE(verbs_.is_held("mlx5_0", "ibv_dereg_mr")) << "none of these waited for it";

  verbs_.let_go("mlx5_0", "ibv_dereg_mr");
  EXPECT_TRUE(renewed.get());
}

TEST_F(DcSlowRailsTest, ARailThatOpensSlowlyKeepsNothingElseWaiting) {
  open(two_rails_);
  const auto region = register_region();
  verbs_.hold_next("mlx5_0", "ibv_open_device");
  verbs_.send_event("mlx5_0", IBV_EVENT_DEVICE_FATAL);
  ASSERT_TRUE(verbs_.wait_for_held("mlx5_0", "ibv_open_device"));

  EXPECT_EQ(rails_in_use(*region), std::set{2});
  EXPECT_TRUE(region->fence());
  const auto another = register_region();
  EXPECT_EQ(rails_in_use(*another), std::set{2});
  // The other rail's events are taken in all the same.
  set_port_state("mlx5_1", IBV_PORT_DOWN);
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region).empty(); }));
  set_port_state("mlx5_1", IBV_PORT_ACTIVE);
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{2}; }));
  EXPECT_TRUE(verbs_.is_held("mlx5_0", "ibv_open_device")) << "none of these waited for it";

  verbs_.let_go("mlx5_0", "ibv_open_device");
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{1, 2}; }));
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*another) == std::set{1, 2}; }));
}

TEST_F(DcSlowRailsTest, ARailThatFailsUnderARegistrationTakesItInWhenItIsBack) {
  for (const int error : {0, EIO}) {
    open(one_rail_);
    const auto region = register_region();
    verbs_.hold_next("mlx5_0", "ibv_reg_mr");
    auto slow = register_elsewhere();
    ASSERT_TRUE(verbs_.wait_for_held("mlx5_0", "ibv_reg_mr"));
    verbs_.send_event("mlx5_0", IBV_EVENT_DEVICE_FATAL);
    ASSERT_TRUE(fakes::eventually([&] { return rails_in_use(*region).empty(); }))
        << "no token names the rail from then on";
    if (error != 0) verbs_.fail_next("mlx5_0", "ibv_reg_mr", error);
    verbs_.let_go("mlx5_0", "ibv_reg_mr");

    const auto made = slow.get();  // the rail is the fault, not the memory: no error
    EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*made) == std::set{1}; }));
    EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{1}; }));
    EXPECT_EQ(verbs_.busy_destructions(), 0) << "the device outlived the call";
  }
}

// Only closing the device ends a key that cannot be taken back, so the fence waits for that.
TEST_F(DcSlowRailsTest, AFenceThatHasToCloseARailWaitsForARegistrationUnderWayThere) {
  open(two_rails_);
  const auto region = register_region();
  verbs_.hold_next("mlx5_0", "ibv_reg_mr");
  auto slow = register_elsewhere();
  ASSERT_TRUE(verbs_.wait_for_held("mlx5_0", "ibv_reg_mr"));
  const auto old = verbs_.registrations().at(0);
  verbs_.fail_next("mlx5_0", "ibv_dereg_mr", EIO, 2);
  auto renewed = std::async(std::launch::async, [&] { return region->fence(); });
  EXPECT_TRUE(fakes::eventually([&] { return verbs_.count("ibv_dereg_mr") > 0; }));
  EXPECT_EQ(verbs_.count("ibv_close_device"), 0U);

  verbs_.let_go("mlx5_0", "ibv_reg_mr");
  EXPECT_TRUE(renewed.get());
  EXPECT_GE(verbs_.count("ibv_close_device"), 1U);
  EXPECT_FALSE(verbs_.can_write("mlx5_0", old.rkey, old.iova, old.length));
  const auto made = slow.get();
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*made) == std::set{1, 2}; }));
}

}  // namespace
}  // namespace s3rdmafs::rdma::mlx5
