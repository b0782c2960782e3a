// SPDX-License-Identifier: Apache-2.0
// What fence() kills, on devices that give the same keys out again.
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dc_fixture.h"
#include "fakes/eventually.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

using testing::ElementsAre;

class DcFenceTest : public DcTest {};

TEST_F(DcFenceTest, KillsEveryKeyBeforeItMakesNewOnes) {
  const auto region = register_region();
  const std::size_t calls = verbs_.calls().size();
  ASSERT_TRUE(region->fence());

  std::vector<std::string> order;
  const auto all = verbs_.calls();
  for (std::size_t i = calls; i < all.size(); ++i) order.push_back(all[i].function);
  EXPECT_THAT(order, ElementsAre("ibv_dereg_mr", "ibv_dereg_mr", "ibv_reg_mr", "ibv_reg_mr"));
  const auto seen = verbs_.registrations();
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_FALSE(seen[0].is_alive || seen[1].is_alive);
  EXPECT_TRUE(seen[2].is_alive && seen[3].is_alive);
  for (int i = 0; i < 4; ++i) {
    const DcToken token = next(*region);
    EXPECT_TRUE(can_write(token.target.gid.back() == 1 ? "mlx5_0" : "mlx5_1", token));
  }
}

// The driver gives the same key to the next registration: only the address can tell them apart.
TEST_F(DcFenceTest, KillsATokenWhoseKeyComesBackWithTheNextRegistration) {
  const auto region = register_region();
  const DcToken old = next(*region);
  ASSERT_EQ(old.target.gid.back(), 1);
  ASSERT_TRUE(can_write("mlx5_0", old));
  ASSERT_TRUE(region->fence());
  EXPECT_EQ(verbs_.registrations().at(2).rkey, old.rkey) << "the control: the key is back";
  EXPECT_FALSE(can_write("mlx5_0", old));
}

// The same for an object file, which is registered for one fill and then again for the next.
TEST_F(DcFenceTest, KillsTheTokensOfARegionThatIsGoneAlsoWhenItsMemoryIsRegisteredAgain) {
  auto region = register_region();
  const DcToken old = next(*region);
  region.reset();
  region = register_region();
  EXPECT_EQ(verbs_.registrations().at(2).rkey, old.rkey) << "the control: the key is back";
  EXPECT_FALSE(can_write("mlx5_0", old));
}

TEST_F(DcFenceTest, RegistersAtAddressesThatEqualTheMemorysOwnModuloAHugePage) {
  const auto region = register_region();
  for (const auto& seen : verbs_.registrations()) {
    EXPECT_EQ(seen.iova % (2UL << 20),
              reinterpret_cast<std::uintptr_t>(memory_.data()) % (2UL << 20));
    EXPECT_NE(seen.iova, reinterpret_cast<std::uintptr_t>(memory_.data()));
  }
}

// A key that cannot be deregistered dies with the device's descriptor.
TEST_F(DcFenceTest, ClosesARailThatDoesNotLetGoOfAKey) {
  const auto region = register_region();
  verbs_.fail_next("mlx5_0", "ibv_dereg_mr", EIO);
  ASSERT_TRUE(region->fence());
  EXPECT_EQ(verbs_.count("ibv_close_device"), 1U);
  EXPECT_EQ(rails_in_use(*region), std::set{2});
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{1, 2}; }))
      << "and is opened again";
}

TEST_F(DcFenceTest, FailsWhereNothingCanBeRegisteredAfterwards) {
  const auto region = register_region();
  verbs_.fail_next("mlx5_0", "ibv_reg_mr", ENOMEM);
  verbs_.fail_next("mlx5_1", "ibv_reg_mr", ENOMEM);
  EXPECT_FALSE(region->fence());
  EXPECT_TRUE(region->fence()) << "and later works";
}

}  // namespace
}  // namespace s3rdmafs::rdma::mlx5
