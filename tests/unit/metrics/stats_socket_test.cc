// SPDX-License-Identifier: Apache-2.0
#include "metrics/stats_socket.h"

#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"

namespace s3rdmafs::metrics {
namespace {

constexpr std::chrono::seconds kTimeout{10};

class StatsSocketTest : public testing::Test {
 protected:
  const fakes::TemporaryFolder folder_;
  const std::string path_ = folder_.path() / "stats.sock";
  Registry registry_;
};

TEST_F(StatsSocketTest, SendsWhatTheRegistryHoldsNow) {
  const auto socket = StatsSocket::listen(registry_, path_);
  ASSERT_TRUE(socket) << socket.error().detail;
  registry_.counter("things_total", "Things").add(42);
  const auto answer = ask_stats(path_, kTimeout);
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_EQ(answer->text, registry_.prometheus_text());
  EXPECT_NE(answer->text.find("s3rdmafs_things_total 42"), std::string::npos);
  EXPECT_EQ(answer->daemon_pid, ::getpid());
}

TEST_F(StatsSocketTest, RemovesItsNameAtTheEnd) {
  {
    const auto socket = StatsSocket::listen(registry_, path_);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(ask_stats(path_, kTimeout).error().code, ErrorCode::kNotFound);
}

TEST_F(StatsSocketTest, TakesOverFromADaemonThatDied) {
  const auto dead = StatsSocket::listen(registry_, path_);
  const auto live = StatsSocket::listen(registry_, path_);
  ASSERT_TRUE(live);
  EXPECT_TRUE(ask_stats(path_, kTimeout));
}

TEST(StatsSocketPath, TellsMountPointsApartAndFitsASocketAddress) {
  EXPECT_EQ(stats_socket_path("/mnt/a"), stats_socket_path("/mnt/a"));
  EXPECT_NE(stats_socket_path("/mnt/a"), stats_socket_path("/mnt/b"));
  EXPECT_LT(stats_socket_path(std::string(4000, 'x')).size(), 108U);
}

}  // namespace
}  // namespace s3rdmafs::metrics
