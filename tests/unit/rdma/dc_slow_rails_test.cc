// SPDX-License-Identifier: Apache-2.0
// Verbs that take long, and devices that fail meanwhile: what waits for them and what does not.
// Calls are held inside the recorded devices while the others have to go on.
#include <future>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "dc_fixture.h"
#include "fakes/eventually.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

class DcSlowRailsTest : public DcTest {
 protected:
  std::future<std::unique_ptr<MemoryRegion>> register_elsewhere() {
    return std::async(std::launch::async, [this] { return register_region(); });
  }
  // While the first device holds this call, another region works, is fenced, and more are made.
  void expect_nothing_waits_for(const std::string& held, MemoryRegion& another) {
    EXPECT_EQ(rails_in_use(another), (std::set{1, 2}));
    EXPECT_TRUE(another.fence());
    register_region().reset();
    EXPECT_TRUE(verbs_.is_held("mlx5_0", held)) << "none of these waited for it";
  }
};

TEST_F(DcSlowRailsTest, ARegistrationThatTakesLongKeepsNoOtherRegionWaiting) {
  const auto region = register_region();
  verbs_.hold_next("mlx5_0", "ibv_reg_mr");
  auto slow = register_elsewhere();
  ASSERT_TRUE(verbs_.wait_for_held("mlx5_0", "ibv_reg_mr"));

  expect_nothing_waits_for("ibv_reg_mr", *region);

  verbs_.let_go("mlx5_0", "ibv_reg_mr");
  EXPECT_EQ(rails_in_use(*slow.get()), (std::set{1, 2}));
}

TEST_F(DcSlowRailsTest, AFenceThatTakesLongKeepsNoOtherRegionWaiting) {
  const auto region = register_region();
  const auto other = register_region();
  verbs_.hold_next("mlx5_0", "ibv_dereg_mr");
  auto fenced = std::async(std::launch::async, [&] { return other->fence(); });
  ASSERT_TRUE(verbs_.wait_for_held("mlx5_0", "ibv_dereg_mr"));

  expect_nothing_waits_for("ibv_dereg_mr", *region);

  verbs_.let_go("mlx5_0", "ibv_dereg_mr");
  EXPECT_TRUE(fenced.get());
}

TEST_F(DcSlowRailsTest, ARailThatOpensSlowlyKeepsNothingElseWaiting) {
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

TEST_F(DcSlowRailsTest, ARailThatFailsDuringARegistrationMakesItWhenItIsBack) {
  for (const int error : {0, EIO}) {
    options_.rails.resize(1);
    fabric_.reset();
    const auto region = register_region();
    verbs_.hold_next("mlx5_0", "ibv_reg_mr");
    auto slow = register_elsewhere();
    ASSERT_TRUE(verbs_.wait_for_held("mlx5_0", "ibv_reg_mr"));
    verbs_.send_event("mlx5_0", IBV_EVENT_DEVICE_FATAL);
    ASSERT_TRUE(fakes::eventually([&] { return rails_in_use(*region).empty(); }))
        << "no token names the rail from then on";
    if (error != 0) verbs_.fail_next("mlx5_0", "ibv_reg_mr", error);
    verbs_.let_go("mlx5_0", "ibv_reg_mr");

    const auto made = slow.get();  // not an error: the rail failed, not the memory
    EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*made) == std::set{1}; }));
    EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{1}; }));
    EXPECT_EQ(verbs_.busy_destructions(), 0) << "the device outlived the call";
  }
}

// Only closing the device ends a key that cannot be taken back, so the fence waits for that.
TEST_F(DcSlowRailsTest, AFenceThatHasToCloseARailWaitsForARegistrationUnderWayThere) {
  const auto region = register_region();
  verbs_.hold_next("mlx5_0", "ibv_reg_mr");
  auto slow = register_elsewhere();
  ASSERT_TRUE(verbs_.wait_for_held("mlx5_0", "ibv_reg_mr"));
  const auto old = verbs_.registrations().at(0);
  verbs_.fail_next("mlx5_0", "ibv_dereg_mr", EIO, 2);
  auto fenced = std::async(std::launch::async, [&] { return region->fence(); });
  EXPECT_TRUE(fakes::eventually([&] { return verbs_.count("ibv_dereg_mr") > 0; }));
  EXPECT_EQ(verbs_.count("ibv_close_device"), 0U);

  verbs_.let_go("mlx5_0", "ibv_reg_mr");
  EXPECT_TRUE(fenced.get());
  EXPECT_GE(verbs_.count("ibv_close_device"), 1U);
  EXPECT_FALSE(verbs_.can_write("mlx5_0", old.rkey, old.iova, old.length));
  const auto made = slow.get();
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*made) == std::set{1, 2}; }));
}

}  // namespace
}  // namespace s3rdmafs::rdma::mlx5
