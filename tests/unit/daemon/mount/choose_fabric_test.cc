// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/choose_fabric.h"

#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

TEST(PortWish, HasTheSettingsOfTheMountFile) {
  config::MountConfig::Rdma config;
  config.rails = "mlx5_1:2";
  config.gid_index = "3";
  config.traffic_class = 104;
  config.service_level = 3;
  const rdma::verbs::PortWish wish = port_wish(config);
  EXPECT_EQ(wish.device, "mlx5_1");
  EXPECT_EQ(wish.port, 2);
  EXPECT_EQ(wish.gid_index, 3U);
  EXPECT_EQ(wish.marks, (rdma::verbs::PacketMarks{.traffic_class = 104, .service_level = 3}));
}

}  // namespace
}  // namespace s3rdmafs::daemon
