// SPDX-License-Identifier: Apache-2.0
#include "rdma/endpoint_fabrics.h"

#include <array>

#include <gtest/gtest.h>

#include "fakes/rdma/fake_fabric.h"

namespace s3rdmafs::rdma {
namespace {

class EndpointFabricsTest : public ::testing::Test {
 protected:
  EndpointFabricsTest() {
    std::vector<std::unique_ptr<Fabric>> fabrics;
    for (fakes::FakeFabric*& each : each_) {
      auto fabric = std::make_unique<fakes::FakeFabric>();
      each = fabric.get();
      fabrics.push_back(std::move(fabric));
    }
    all_ = make_endpoint_fabrics(std::move(fabrics));
  }

  std::array<std::byte, 64> memory_{};
  std::array<fakes::FakeFabric*, 2> each_{};
  std::unique_ptr<Fabric> all_;
};

TEST_F(EndpointFabricsTest, RegisterMemoryWithEveryServerAndKeepThemApart) {
  const auto region = all_->register_memory({.bytes = memory_}, Access::kRemoteWrite).value();
  for (const fakes::FakeFabric* fabric : each_) EXPECT_EQ(fabric->registrations(), 1);
  EXPECT_NE(&region->for_endpoint(0), &region->for_endpoint(1));
  for (const std::size_t endpoint : {0U, 1U}) {
    EXPECT_EQ(region->for_endpoint(endpoint).bytes().data(), memory_.data());
  }
}

TEST_F(EndpointFabricsTest, FenceEveryServerOffOrSayThatTheyDoNot) {
  const auto region = all_->register_memory({.bytes = memory_}, Access::kRemoteWrite).value();
  EXPECT_TRUE(region->fence());
  each_[0]->let_fences_fail(true);
  EXPECT_FALSE(region->fence());
  EXPECT_EQ(each_[1]->fences(), 2) << "the others all the same";
  each_[0]->let_fences_fail(false);
  each_[1]->let_fences_fail(true);
  EXPECT_FALSE(region->fence());
}

TEST_F(EndpointFabricsTest, LetARegionOfOneFabricServeEveryEndpoint) {
  const auto region = each_[0]->register_memory({.bytes = memory_}, Access::kRemoteWrite).value();
  EXPECT_EQ(&region->for_endpoint(5), region.get());
}

}  // namespace
}  // namespace s3rdmafs::rdma
