// SPDX-License-Identifier: Apache-2.0
// Ports that go down, devices that fail, transfers that fail, memory that is refused: the other
// rails go on, and the failed one comes back.
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dc_fixture.h"
#include "fakes/eventually.h"
#include "fakes/log_capture.h"
#include "fakes/resource_limit.h"
#include "rdma/mlx5/rail_health.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

using fakes::FakePort;
using testing::ElementsAre;
using testing::HasSubstr;

class DcFailingRailsTest : public DcTest {};

TEST_F(DcFailingRailsTest, LeavesOutARailWhosePortWentDownUntilItIsBack) {
  const auto region = register_region();
  set_port_state("mlx5_0", IBV_PORT_DOWN);
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{2}; }));
  EXPECT_TRUE(fabric().is_up());

  set_port_state("mlx5_0", IBV_PORT_ACTIVE);
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{1, 2}; }));
  EXPECT_EQ(verbs_.count("ibv_reg_mr"), 2U)
      << "it came back unchanged: nothing was registered again";
  EXPECT_EQ(verbs_.unacknowledged_events(), 0);
}

TEST_F(DcFailingRailsTest, HasNoTokensWhileEveryPortIsDown) {
  const auto region = register_region();
  set_port_state("mlx5_0", IBV_PORT_DOWN);
  set_port_state("mlx5_1", IBV_PORT_DOWN);
  EXPECT_TRUE(fakes::eventually([&] { return !fabric().is_up(); }));
  const auto token = try_token(*region);
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().code, ErrorCode::kUnreachable);

  set_port_state("mlx5_1", IBV_PORT_ACTIVE);
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{2}; }));
}

TEST_F(DcFailingRailsTest, RebuildsARailWhoseDeviceFailedAndRegistersEverythingThereAgain) {
  const auto region = register_region();
  const auto another = register_region();
  const DcToken before = next(*region);
  ASSERT_EQ(before.target.gid.back(), 1);
  const std::size_t calls = verbs_.calls().size();

  verbs_.send_event("mlx5_0", IBV_EVENT_DEVICE_FATAL);
  ASSERT_TRUE(fakes::eventually([&] { return verbs_.count("ibv_reg_mr") == 6; }));
  EXPECT_THAT(functions_since(calls, "mlx5_0"),
              ElementsAre("ibv_dereg_mr", "ibv_dereg_mr", "ibv_destroy_qp", "ibv_destroy_srq",
                          "ibv_destroy_cq", "ibv_dealloc_pd", "ibv_close_device", "ibv_open_device",
                          "ibv_alloc_pd", "ibv_create_cq", "ibv_create_srq", "mlx5dv_create_qp",
                          "ibv_modify_qp", "ibv_modify_qp", "ibv_reg_mr", "ibv_reg_mr"));
  EXPECT_THAT(functions_since(calls, "mlx5_1"), ElementsAre()) << "the other rail is untouched";
  ASSERT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{1, 2}; }));
  DcToken after = next(*region);
  if (after.target.gid.back() != 1) after = next(*region);
  EXPECT_NE(after.target.dct_number, before.target.dct_number);
  EXPECT_TRUE(can_write("mlx5_0", after));
  EXPECT_FALSE(can_write("mlx5_0", before)) << "though the key is in use again";
}

TEST_F(DcFailingRailsTest, RebuildsARailWhoseAddressChanged) {
  const auto region = register_region();
  verbs_.change_port("mlx5_0", 1, [](FakePort& port) { port = fakes::port_with_address(9); });
  verbs_.send_event("mlx5_0", IBV_EVENT_GID_CHANGE);
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{2, 9}; }));
}

TEST_F(DcFailingRailsTest, GoesByOtherRailsWhileOneFailsItsTransfers) {
  const auto region = register_region();
  const auto fate_of_rail = [](int rail) {
    return rail == 1 ? TokenFate::kTransferFailed : TokenFate::kAnswered;
  };
  for (int i = 0; i < 2 * RailHealth::kFailuresMax; ++i) {
    Token token = try_token(*region).value();
    const int rail = DcToken::parse(token.text(), DcTokenForm::k81).value().target.gid.back();
    token.end(fate_of_rail(rail));
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(next_rail(*region), 2);

  clock_.advance(RailHealth::kRetryInterval);
  EXPECT_EQ(rails_in_use(*region), (std::set{1, 2})) << "tried again, and it works";
  EXPECT_EQ(rails_in_use(*region), (std::set{1, 2}));
}

// The server can be reached, only not from the rails' addresses: tokens that name them still work.
TEST_F(DcFailingRailsTest, BindsRequestsToRailsThatCannotConnectOnlyToTryThemAgain) {
  const auto region = register_region();
  for (int i = 0; i < 2 * RailHealth::kFailuresMax; ++i) next(*region, TokenFate::kUnconnected);
  for (int i = 0; i < 10; ++i) {
    Token token = try_token(*region).value();
    EXPECT_EQ(token.source_address(), "");
    token.end(TokenFate::kAnswered);
  }
  clock_.advance(RailHealth::kRetryInterval);
  Token first = try_token(*region).value();
  Token second = try_token(*region).value();
  EXPECT_EQ((std::set{first.source_address(), second.source_address()}),
            (std::set<std::string>{"192.0.2.1", "192.0.2.2"}))
      << "each rail is tried";
  Token third = try_token(*region).value();
  EXPECT_EQ(third.source_address(), "") << "once";
  for (Token* token : {&first, &second, &third}) token->end(TokenFate::kAnswered);
  for (int i = 0; i < 4; ++i) {
    Token token = try_token(*region).value();
    EXPECT_NE(token.source_address(), "") << "and from then on always";
    token.end(TokenFate::kAnswered);
  }
}

TEST_F(DcFailingRailsTest, StillUsesRailsThatFailWhereAllOfThemFail) {
  const auto region = register_region();
  for (int i = 0; i < 20; ++i) next(*region, TokenFate::kUnanswered);
  EXPECT_TRUE(try_token(*region));
  EXPECT_TRUE(fabric().is_up());
}

TEST_F(DcFailingRailsTest, GoesByTheRailsThatCouldRegisterARegion) {
  static_cast<void>(fabric());
  verbs_.fail_next("mlx5_0", "ibv_reg_mr", ENOMEM, 1000);
  const auto region = register_region();
  EXPECT_EQ(rails_in_use(*region), std::set{2});

  verbs_.fail_next("mlx5_0", "ibv_reg_mr", 0, 0);
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{1, 2}; }))
      << "tried again with the keeper's next round";
}

TEST_F(DcFailingRailsTest, FailsWithTheReasonWhereNoRailCouldRegisterARegion) {
  static_cast<void>(fabric());
  verbs_.fail_next("mlx5_0", "ibv_reg_mr", ENOMEM);
  verbs_.fail_next("mlx5_1", "ibv_reg_mr", ENOMEM);
  const auto region = fabric().register_memory({.bytes = memory_}, Access::kRemoteWrite);
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code, ErrorCode::kNoMemory);
  EXPECT_THAT(region.error().detail, HasSubstr("locked"));
  EXPECT_THAT(region.error().detail, HasSubstr("2 x cache.size")) << "it counts on each rail";
}

TEST_F(DcFailingRailsTest, LogsOnceThatARailRefusesMemoryAndCountsHowOften) {
  const fakes::ResourceLimit limit(RLIMIT_MEMLOCK, 1 << 20);
  const fakes::LogCapture log;
  const auto& refused =
      metrics_.counter("rdma_dc_registrations_refused_total", "", R"(rail="mlx5_0:1")");
  static_cast<void>(fabric());
  verbs_.fail_next("mlx5_0", "ibv_reg_mr", ENOMEM, 1000);
  {
    const auto region = register_region();
    const auto another = register_region();
    EXPECT_EQ(refused.value(), 2U);
    ASSERT_TRUE(fakes::eventually([&] { return verbs_.count("ibv_reg_mr") > 4; }))
        << "the keeper's attempts are neither counted nor logged";
    EXPECT_EQ(refused.value(), 2U);
    EXPECT_EQ(
        metrics_.counter("rdma_dc_registrations_refused_total", "", R"(rail="mlx5_1:1")").value(),
        0U);
  }
  fabric_.reset();
  const std::vector<std::string> lines = log.lines_with("register 64KiB");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("mlx5_0:1"));
  EXPECT_THAT(lines[0], HasSubstr("the limit on locked memory is 1MiB"));
  EXPECT_THAT(lines[0], HasSubstr("LimitMEMLOCK=infinity"));
  EXPECT_THAT(lines[0], HasSubstr("2 x cache.size"));
}

}  // namespace
}  // namespace s3rdmafs::rdma::mlx5
