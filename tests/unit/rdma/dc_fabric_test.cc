// SPDX-License-Identifier: Apache-2.0
// What is registered, what tokens say, and how a fabric begins and ends.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dc_fixture.h"
#include "fakes/allocation_count.h"
#include "fakes/eventually.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

using fakes::FakePort;
using testing::HasSubstr;

class DcFabricTest : public DcTest {};

TEST_F(DcFabricTest, RegistersEveryRegionOnEveryRailWithTheLeastAccess) {
  const auto for_get = register_region(Access::kRemoteWrite);
  const auto for_put = register_region(Access::kRemoteRead);
  const auto seen = verbs_.registrations();
  ASSERT_EQ(seen.size(), 4U);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].device, i % 2 == 0 ? "mlx5_0" : "mlx5_1");
    EXPECT_EQ(seen[i].address, memory_.data());
    EXPECT_EQ(seen[i].length, memory_.size());
    EXPECT_EQ(seen[i].access, i < 2 ? unsigned{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}
                                    : unsigned{IBV_ACCESS_REMOTE_READ});
  }
}

TEST_F(DcFabricTest, WritesTheWindowAndTheRailIntoTheToken) {
  const auto region = register_region();
  const Token token = try_token(*region, 1000, 4).value();
  const DcToken fields = DcToken::parse(token.text(), DcTokenForm::k81).value();

  EXPECT_EQ(fields.window_address, verbs_.registrations().at(0).iova + 1000);
  EXPECT_EQ(fields.window_bytes, 4U);
  EXPECT_EQ(fields.rkey, verbs_.registrations().at(0).rkey);
  EXPECT_NE(fields.target.dct_number, 0U);
  EXPECT_EQ(fields.target.gid, fakes::port_with_address(1).gids[0].raw);
  EXPECT_EQ(token.source_address(), "192.0.2.1");
}

TEST_F(DcFabricTest, NamesNoSourceAddressWhereRequestsMustNotBeBound) {
  options_.bind_source = false;
  const auto region = register_region();
  EXPECT_EQ(try_token(*region).value().source_address(), "");
}

TEST_F(DcFabricTest, WritesTokensInTheFormThatIsConfigured) {
  options_.token_form = DcTokenForm::k115;
  const auto region = register_region();
  EXPECT_EQ(try_token(*region).value().text().size(), 115U);
}

TEST_F(DcFabricTest, NamesTheRailsInTurn) {
  const auto region = register_region();
  const auto other = register_region();
  EXPECT_EQ(next_rail(*region), 1);
  EXPECT_EQ(next_rail(*other), 2) << "over all regions";
  EXPECT_EQ(next_rail(*region), 1);
  EXPECT_EQ(next_rail(*region), 2);
}

TEST_F(DcFabricTest, ChoosesTheRailWithTheFewestBytesOutstanding) {
  const auto region = register_region();
  Token long_one = try_token(*region, 0, 4096).value();  // on the first rail
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next_rail(*region), 2);
  long_one.end(TokenFate::kAnswered);
  EXPECT_EQ(rails_in_use(*region).size(), 2U) << "the control";
}

// Every read costs a token.
TEST_F(DcFabricTest, AllocatesOnlyTheTextOfATokenAndRegistersNothing) {
  const auto region = register_region();
  const std::size_t calls_before = verbs_.calls().size();
  constexpr std::size_t kTokens = 1000;
  std::size_t text_bytes = 0;
  const std::size_t before = fakes::allocations_of_this_thread();
  for (std::size_t i = 0; i < kTokens; ++i) {
    region->token(i, 4096, Deadline::max(), [&text_bytes](Result<Token> token) {
      text_bytes += token->text().size();
      token->end(TokenFate::kAnswered);
    });
  }
  EXPECT_EQ(fakes::allocations_of_this_thread() - before, fakes::kCountsAllocations ? kTokens : 0)
      << "one each: its text";
  EXPECT_EQ(text_bytes, 81 * kTokens);
  EXPECT_EQ(verbs_.calls().size(), calls_before) << "no call of the verbs";
}

// The control: what is counted above does count.
TEST_F(DcFabricTest, WouldNoticeARegistrationOrAnAllocation) {
  static_cast<void>(fabric());
  const std::size_t allocations = fakes::allocations_of_this_thread();
  const auto region = register_region();
  EXPECT_EQ(fakes::allocations_of_this_thread() > allocations, fakes::kCountsAllocations);
  EXPECT_EQ(verbs_.count("ibv_reg_mr"), 2U);
}

TEST_F(DcFabricTest, RefusesAWindowThatATokenCannotDescribe) {
  const auto region = register_region();
  const auto token = try_token(*region, 0, std::size_t{1} << 32);
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(DcFabricTest, StartsWithoutARailThatIsDownAndTakesItInLater) {
  verbs_.change_port("mlx5_0", 1, [](FakePort& port) { port.state = IBV_PORT_DOWN; });
  const auto region = register_region();
  EXPECT_EQ(rails_in_use(*region), std::set{2});

  verbs_.change_port("mlx5_0", 1, [](FakePort& port) { port.state = IBV_PORT_ACTIVE; });
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{1, 2}; }));
}

TEST_F(DcFabricTest, DoesNotStartWithARailThatCanNeverWork) {
  options_.rails.push_back({.device = "rxe0", .port = 1, .gid_index = 0});
  const auto fabric = make_dc_fabric(options_, clock_, metrics_);
  ASSERT_FALSE(fabric);
  EXPECT_EQ(fabric.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(fabric.error().detail, HasSubstr("rxe0"));
  EXPECT_EQ(verbs_.live_objects(), 0);
}

TEST_F(DcFabricTest, EndsEverythingInReverseOrderOfDependency) {
  auto region = register_region();
  region.reset();
  fabric_.reset();
  EXPECT_EQ(verbs_.live_objects(), 0);
  EXPECT_EQ(verbs_.busy_destructions(), 0);
  EXPECT_EQ(verbs_.count("ibv_dereg_mr"), 2U);
}

}  // namespace
}  // namespace s3rdmafs::rdma::mlx5
