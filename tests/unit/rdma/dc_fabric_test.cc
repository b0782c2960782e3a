// SPDX-License-Identifier: Apache-2.0
// Two rails that are not there: registrations, tokens, failures and the way back.
#include "rdma/mlx5/dc_fabric.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/allocation_count.h"
#include "fakes/eventually.h"
#include "fakes/fake_clock.h"
#include "fakes/locked_memory_limit.h"
#include "fakes/log_capture.h"
#include "fakes/rdma/recording_verbs.h"
#include "rdma/mlx5/dc_token.h"
#include "rdma/mlx5/rail_health.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

using fakes::FakePort;
using fakes::RecordingVerbs;
using testing::ElementsAre;
using testing::HasSubstr;

class DcFabricTest : public ::testing::Test {
 protected:
  Fabric& fabric() {
    if (!fabric_) {
      auto made = make_dc_fabric(options_, clock_, metrics_);
      if (!made) throw std::runtime_error(made.error().detail);
      fabric_ = std::move(*made);
    }
    return *fabric_;
  }
  std::unique_ptr<MemoryRegion> register_region(Access access = Access::kRemoteWrite) {
    return fabric()
        .register_memory({.fd = -1, .offset_bytes = 0, .bytes = memory_}, access)
        .value();
  }

  static Result<Token> try_token(MemoryRegion& region, std::size_t offset = 0,
                                 std::size_t length = 4096) {
    Result<Token> result = fail(ErrorCode::kSystem, "the fabric let the test wait");
    region.token(offset, length, Deadline::max(),
                 [&result](Result<Token> token) { result = std::move(token); });
    return result;
  }
  /// What the next token says; its request ends with `fate`.
  static DcToken next(MemoryRegion& region, TokenFate fate = TokenFate::kAnswered) {
    Token token = try_token(region).value();
    token.end(fate);
    return DcToken::parse(token.text(), DcTokenForm::k81).value();
  }
  /// The last byte of the address of the rail that the next token names.
  static int next_rail(MemoryRegion& region, TokenFate fate = TokenFate::kAnswered) {
    return next(region, fate).target.gid.back();
  }
  static std::set<int> rails_in_use(MemoryRegion& region) {
    std::set<int> rails;
    for (int i = 0; i < 4; ++i) {
      if (auto token = try_token(region)) {
        token->end(TokenFate::kAnswered);
        rails.insert(DcToken::parse(token->text(), DcTokenForm::k81).value().target.gid.back());
      }
    }
    return rails;
  }
  bool can_write(const std::string& device, const DcToken& token) const {
    return verbs_.can_write(device, token.rkey, token.window_address, token.window_bytes);
  }
  void set_port_state(const std::string& device, ibv_port_state state) {
    verbs_.change_port(device, 1, [state](FakePort& port) { port.state = state; });
    verbs_.send_event(device,
                      state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
  }
  std::vector<std::string> functions_since(std::size_t first, const std::string& device) const {
    std::vector<std::string> names;
    const auto calls = verbs_.calls();
    for (std::size_t i = first; i < calls.size(); ++i) {
      if (calls[i].device == device) names.push_back(calls[i].function);
    }
    return names;
  }

  RecordingVerbs verbs_{
      {{.name = "mlx5_0", .ports = {fakes::port_with_address(1)}},
       {.name = "mlx5_1", .ports = {fakes::port_with_address(2)}},
       {.name = "rxe0", .ports = {fakes::port_with_address(3)}, .is_mlx5 = false}}};
  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  DcOptions options_{.rails = {{.device = "mlx5_0", .port = 1, .gid_index = 0},
                               {.device = "mlx5_1", .port = 1, .gid_index = 0}},
                     .dc_key = 0xffeeddcc};
  std::vector<std::byte> memory_ = std::vector<std::byte>(64UL * 1024);
  std::unique_ptr<Fabric> fabric_;
};

// --- Tokens ---

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

TEST_F(DcFabricTest, NamesNoSourceAddressWhereRequestsAreNotToBeBound) {
  options_.bind_source = false;
  const auto region = register_region();
  EXPECT_EQ(try_token(*region).value().source_address(), "");
}

TEST_F(DcFabricTest, WritesTokensInTheFormThatIsConfigured) {
  options_.token_form = DcTokenForm::k115;
  const auto region = register_region();
  EXPECT_EQ(try_token(*region).value().text().size(), 115U);
}

TEST_F(DcFabricTest, DealsTheRailsOutInTurn) {
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

// The promise for every read in steady state, which costs a token each.
TEST_F(DcFabricTest, NeitherRegistersNorAllocatesForATokenBeyondItsText) {
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

// --- Failing rails ---

TEST_F(DcFabricTest, LeavesOutARailWhosePortWentDownUntilItIsBack) {
  const auto region = register_region();
  set_port_state("mlx5_0", IBV_PORT_DOWN);
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{2}; }));
  EXPECT_TRUE(fabric().is_up());

  set_port_state("mlx5_0", IBV_PORT_ACTIVE);
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{1, 2}; }));
  EXPECT_EQ(verbs_.count("ibv_reg_mr"), 2U) << "it came back as it was: nothing was done anew";
  EXPECT_EQ(verbs_.unacknowledged_events(), 0);
}

TEST_F(DcFabricTest, HasNoTokensWhileEveryPortIsDown) {
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

TEST_F(DcFabricTest, RebuildsARailWhoseDeviceFailedAndRegistersEverythingThereAgain) {
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

TEST_F(DcFabricTest, RebuildsARailWhoseAddressChanged) {
  const auto region = register_region();
  verbs_.change_port("mlx5_0", 1, [](FakePort& port) { port = fakes::port_with_address(9); });
  verbs_.send_event("mlx5_0", IBV_EVENT_GID_CHANGE);
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{2, 9}; }));
}

TEST_F(DcFabricTest, GoesByOtherRailsWhileOneFailsItsTransfers) {
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
  EXPECT_EQ(rails_in_use(*region), (std::set{1, 2})) << "tried again, and well";
  EXPECT_EQ(rails_in_use(*region), (std::set{1, 2}));
}

// The server is reached, only not from the rails: what they name still works.
TEST_F(DcFabricTest, BindsNoRequestToRailsThatCannotBeConnectedFromButForATryNowAndThen) {
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

TEST_F(DcFabricTest, StillUsesRailsThatFailWhereThereAreNoOthers) {
  const auto region = register_region();
  for (int i = 0; i < 20; ++i) next(*region, TokenFate::kUnanswered);
  EXPECT_TRUE(try_token(*region));
  EXPECT_TRUE(fabric().is_up());
}

// --- Registration that fails ---

TEST_F(DcFabricTest, GoesByTheRailsThatCouldRegisterARegion) {
  static_cast<void>(fabric());
  verbs_.fail_next("mlx5_0", "ibv_reg_mr", ENOMEM, 1000);
  const auto region = register_region();
  EXPECT_EQ(rails_in_use(*region), std::set{2});

  verbs_.fail_next("mlx5_0", "ibv_reg_mr", 0, 0);
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{1, 2}; }))
      << "tried again with the keeper's next round";
}

TEST_F(DcFabricTest, FailsWithTheReasonWhereNoRailCouldRegisterARegion) {
  static_cast<void>(fabric());
  verbs_.fail_next("mlx5_0", "ibv_reg_mr", ENOMEM);
  verbs_.fail_next("mlx5_1", "ibv_reg_mr", ENOMEM);
  const auto region = fabric().register_memory({.bytes = memory_}, Access::kRemoteWrite);
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code, ErrorCode::kNoMemory);
  EXPECT_THAT(region.error().detail, HasSubstr("locked"));
  EXPECT_THAT(region.error().detail, HasSubstr("2 x cache.size")) << "it counts on each rail";
}

TEST_F(DcFabricTest, SaysOnceThatARailRefusesMemoryAndCountsHowOften) {
  const fakes::LockedMemoryLimit limit(1 << 20);
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

// --- The fence ---

TEST_F(DcFabricTest, RenewKillsEveryKeyBeforeItMakesNewOnes) {
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
TEST_F(DcFabricTest, RenewKillsATokenWhoseKeyComesBackWithTheNextRegistration) {
  const auto region = register_region();
  const DcToken old = next(*region);
  ASSERT_EQ(old.target.gid.back(), 1);
  ASSERT_TRUE(can_write("mlx5_0", old));
  ASSERT_TRUE(region->fence());
  EXPECT_EQ(verbs_.registrations().at(2).rkey, old.rkey) << "the control: the key is back";
  EXPECT_FALSE(can_write("mlx5_0", old));
}

// The same for an object file, which is registered for one fill and then again for the next.
TEST_F(DcFabricTest, ATokenOfMemoryThatWasGivenUpIsDeadWhenTheMemoryIsRegisteredAgain) {
  auto region = register_region();
  const DcToken old = next(*region);
  region.reset();
  region = register_region();
  EXPECT_EQ(verbs_.registrations().at(2).rkey, old.rkey) << "the control: the key is back";
  EXPECT_FALSE(can_write("mlx5_0", old));
}

TEST_F(DcFabricTest, RegistersAtAddressesThatEqualTheMemorysOwnModuloAHugePage) {
  const auto region = register_region();
  for (const auto& seen : verbs_.registrations()) {
    EXPECT_EQ(seen.iova % (2UL << 20),
              reinterpret_cast<std::uintptr_t>(memory_.data()) % (2UL << 20));
    EXPECT_NE(seen.iova, reinterpret_cast<std::uintptr_t>(memory_.data()));
  }
}

// A key that cannot be taken back dies with the device's descriptor.
TEST_F(DcFabricTest, RenewClosesARailThatDoesNotLetGoOfAKey) {
  const auto region = register_region();
  verbs_.fail_next("mlx5_0", "ibv_dereg_mr", EIO);
  ASSERT_TRUE(region->fence());
  EXPECT_EQ(verbs_.count("ibv_close_device"), 1U);
  EXPECT_EQ(rails_in_use(*region), std::set{2});
  EXPECT_TRUE(fakes::eventually([&] { return rails_in_use(*region) == std::set{1, 2}; }))
      << "and is opened again";
}

TEST_F(DcFabricTest, RenewIsNoFenceWhereNothingCanBeRegisteredAfterwards) {
  const auto region = register_region();
  verbs_.fail_next("mlx5_0", "ibv_reg_mr", ENOMEM);
  verbs_.fail_next("mlx5_1", "ibv_reg_mr", ENOMEM);
  EXPECT_FALSE(region->fence());
  EXPECT_TRUE(region->fence()) << "and later works";
}

// --- Beginning and end ---

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
