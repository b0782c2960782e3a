// SPDX-License-Identifier: Apache-2.0
// The client's side of the rc dialect over recorded verbs, with a server that only answers
// connects.
#include "rdma/verbs/rc_fabric.h"

#include <functional>
#include <future>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/allocation_count.h"
#include "fakes/eventually.h"
#include "fakes/rdma/recording_verbs.h"
#include "fakes/rdma/scripted_rc_server.h"
#include "fakes/value_of.h"
#include "s3rdmafs/rdma/rc_wire.h"

namespace s3rdmafs::rdma::verbs {
namespace {

using testing::HasSubstr;

class RcFabricTest : public ::testing::Test {
 protected:
  Fabric& fabric() {
    if (!fabric_) {
      fabric_ = fakes::value_of(make_rc_fabric(server_.options(port_), clock_, metrics_));
    }
    return *fabric_;
  }
  std::unique_ptr<MemoryRegion> region(Access access = Access::kRemoteWrite) {
    return fabric()
        .register_memory({.fd = -1, .offset_bytes = 0, .bytes = memory_}, access)
        .value();
  }
  static Result<std::string> token(MemoryRegion& of, std::size_t offset = 0) {
    std::promise<Result<std::string>> promise;
    of.token(offset, 64, Deadline::max(), [&promise](Result<Token> token) {
      if (!token) return promise.set_value(std::unexpected(token.error()));
      const std::string text = token->text();
      token->end(TokenFate::kAnswered);
      promise.set_value(text);
    });
    return promise.get_future().get();  // bounded by the pool's patience
  }
  [[nodiscard]] bool can_write(const std::string& token) const {
    const auto read = rc::parse_object_token(token).value();
    return verbs_.can_write("rxe0", read.rkey, read.address, read.size_bytes);
  }
  void set_port(ibv_port_state state, ibv_event_type event) {
    verbs_.change_port("rxe0", 1, [state](fakes::FakePort& port) { port.state = state; });
    verbs_.send_event("rxe0", event);
  }

  fakes::RecordingVerbs verbs_{
      {{.name = "rxe0",
        .ports = {{.active_mtu = IBV_MTU_1024,
                   .gids = {{.raw = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
                            {.raw = gid_of_address("192.0.2.1").value()}}}},
        .is_mlx5 = false}}};
  fakes::ScriptedRcServer server_;
  PortWish port_;
  const SystemClock clock_;
  metrics::Registry metrics_;
  std::vector<std::byte> memory_{4096};
  std::unique_ptr<Fabric> fabric_;  // before its regions, which tests hold
};

TEST_F(RcFabricTest, RequestsASessionInTheDialectsForm) {
  EXPECT_TRUE(fabric().is_up());
  const auto seen = server_.http().seen().at(0);
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.url, rc::kConnectPath);
  EXPECT_EQ(seen.headers.at("content-length"), "0");
  EXPECT_TRUE(rc::parse_psn(seen.headers.at("x-amz-rdma-psn")));
  const auto ours = rc::parse_endpoint(seen.headers.at("x-amz-rdma-token"));
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->gid, gid_of_address("192.0.2.1")) << "an IP address before a link-local one";
}

TEST_F(RcFabricTest, BringsAQueuePairToReadyToReceiveAndNoFurther) {
  EXPECT_TRUE(fabric().is_up());
  const auto pairs = verbs_.queue_pairs();
  ASSERT_EQ(pairs.size(), 1U);
  const auto& steps = pairs[0].modifications;
  ASSERT_EQ(steps.size(), 2U) << "this side never sends";
  const ibv_qp_attr& init = steps[0].first;
  EXPECT_EQ(init.qp_state, IBV_QPS_INIT);
  EXPECT_EQ(init.qp_access_flags,
            static_cast<unsigned>(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ));
  const ibv_qp_attr& ready = steps[1].first;
  EXPECT_EQ(ready.qp_state, IBV_QPS_RTR);
  EXPECT_EQ(ready.path_mtu, IBV_MTU_1024);
  EXPECT_EQ(ready.dest_qp_num, 0x15U);
  EXPECT_EQ(ready.rq_psn, 0x2239bcU);
  EXPECT_EQ(ready.max_dest_rd_atomic, 1);
  EXPECT_EQ(ready.min_rnr_timer, 12);
  EXPECT_EQ(ready.ah_attr.is_global, 1);
  EXPECT_EQ(ready.ah_attr.grh.sgid_index, 1);
  EXPECT_EQ(ready.ah_attr.grh.hop_limit, 64);
  EXPECT_EQ(ready.ah_attr.grh.dgid.raw[15], 9);
  EXPECT_EQ(ready.ah_attr.grh.traffic_class, 0) << "unmarked by default";
  EXPECT_EQ(ready.ah_attr.sl, 0);
}

// The server reads the bytes of a PUT through the pair.
TEST_F(RcFabricTest, MarksItsPacketsAsConfigured) {
  port_.marks = {.traffic_class = 104, .service_level = 3};
  EXPECT_TRUE(fabric().is_up());
  const ibv_qp_attr ready = verbs_.queue_pairs().at(0).modifications.at(1).first;
  EXPECT_EQ(ready.ah_attr.grh.traffic_class, 104);
  EXPECT_EQ(ready.ah_attr.sl, 3);
}

TEST_F(RcFabricTest, RegistersWithTheLeastAccessOfEachDirection) {
  const auto for_get = region(Access::kRemoteWrite);
  const auto for_put = region(Access::kRemoteRead);
  const auto seen = verbs_.registrations();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].access,
            static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  EXPECT_EQ(seen[1].access, static_cast<unsigned>(IBV_ACCESS_REMOTE_READ));
}

TEST_F(RcFabricTest, NamesExactlyTheWindowInItsTokens) {
  const auto of = region();
  const auto read = rc::parse_object_token(token(*of, 100).value());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->session_id, fakes::ScriptedRcServer::kSession);
  EXPECT_EQ(read->address, verbs_.registrations()[0].iova + 100);
  EXPECT_EQ(read->size_bytes, 64U);
  EXPECT_EQ(read->rkey, verbs_.registrations()[0].rkey);
}

TEST_F(RcFabricTest, CallsNoVerbsAndAsksForNoSessionForATokenInSteadyState) {
  constexpr std::size_t kTokens = 1000;
  const auto of = region();
  ASSERT_TRUE(token(*of));
  const std::size_t calls_before = verbs_.calls().size();
  const std::size_t before = fakes::allocations_of_this_thread();
  for (std::size_t i = 0; i < kTokens; ++i) {
    of->token(i, 64, Deadline::max(), [](Result<Token> made) { made->end(TokenFate::kAnswered); });
  }
  EXPECT_LE(fakes::allocations_of_this_thread() - before, 4 * kTokens)
      << "the text, the wait and the way back";
  EXPECT_EQ(verbs_.calls().size(), calls_before);
  EXPECT_EQ(server_.http().seen().size(), 1U);
  // The control: a registration would have been seen.
  const auto another = region();
  EXPECT_GT(verbs_.calls().size(), calls_before);
}

// The device gives the same key to the next registration: only the address can tell them apart.
TEST_F(RcFabricTest, FencesByDeregisteringTheKeyAndNeverUsingItsAddressAgain) {
  const auto of = region();
  const std::string old = token(*of).value();
  ASSERT_TRUE(can_write(old));
  ASSERT_TRUE(of->fence());
  const auto seen = verbs_.registrations();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_FALSE(seen[0].is_alive);
  EXPECT_EQ(seen[1].rkey, seen[0].rkey) << "the control: the key is back";
  EXPECT_FALSE(can_write(old));
  EXPECT_TRUE(can_write(token(*of).value()));
}

TEST_F(RcFabricTest, GoesDownWithItsPortAndComesBackWithIt) {
  const auto of = region();
  ASSERT_TRUE(token(*of));
  set_port(IBV_PORT_DOWN, IBV_EVENT_PORT_ERR);
  EXPECT_TRUE(fakes::eventually([&] { return !fabric().is_up(); }));
  EXPECT_EQ(token(*of).error().code, ErrorCode::kUnreachable);
  set_port(IBV_PORT_ACTIVE, IBV_EVENT_PORT_ACTIVE);
  EXPECT_TRUE(fakes::eventually([&] { return fabric().is_up() && token(*of).has_value(); }));
}

TEST_F(RcFabricTest, OpensADeviceThatFailedAgainWithAllItsMemory) {
  const auto of = region();
  const std::string old = token(*of).value();
  verbs_.send_event("rxe0", IBV_EVENT_DEVICE_FATAL);
  EXPECT_TRUE(fakes::eventually([&] { return verbs_.registrations().size() == 2; }));
  EXPECT_FALSE(verbs_.registrations()[0].is_alive);
  EXPECT_TRUE(fakes::eventually([&] {
    const auto text = token(*of);
    return text && can_write(*text);
  }));
  EXPECT_FALSE(can_write(old));
}

TEST_F(RcFabricTest, TriesAgainToRegisterMemoryThatADeviceRefusedWhenItCameBack) {
  const auto of = region();
  verbs_.fail_next("rxe0", "ibv_reg_mr", ENOMEM, 2);
  verbs_.send_event("rxe0", IBV_EVENT_DEVICE_FATAL);
  EXPECT_TRUE(fakes::eventually([&] { return verbs_.count("ibv_reg_mr") >= 3; }));
  EXPECT_TRUE(fakes::eventually([&] { return token(*of).has_value(); }));
}

TEST_F(RcFabricTest, ARegistrationThatTakesLongKeepsNoOtherRegionWaiting) {
  const auto of = region();
  verbs_.hold_next("rxe0", "ibv_reg_mr");
  auto slow = std::async(std::launch::async, [this] { return region(); });
  ASSERT_TRUE(verbs_.wait_for_held("rxe0", "ibv_reg_mr"));
  EXPECT_TRUE(token(*of));
  EXPECT_TRUE(of->fence());
  region().reset();
  EXPECT_TRUE(verbs_.is_held("rxe0", "ibv_reg_mr")) << "none of these waited for it";
  verbs_.let_go("rxe0", "ibv_reg_mr");
  EXPECT_TRUE(token(*slow.get()));
}

TEST_F(RcFabricTest, ADeviceThatOpensSlowlyKeepsNoRegistrationWaiting) {
  const auto of = region();
  verbs_.hold_next("rxe0", "ibv_open_device");
  verbs_.send_event("rxe0", IBV_EVENT_DEVICE_FATAL);
  ASSERT_TRUE(verbs_.wait_for_held("rxe0", "ibv_open_device"));
  EXPECT_TRUE(of->fence());
  const auto another = region();
  EXPECT_EQ(token(*another).error().code, ErrorCode::kUnreachable);
  EXPECT_TRUE(verbs_.is_held("rxe0", "ibv_open_device")) << "none of these waited for it";
  verbs_.let_go("rxe0", "ibv_open_device");
  EXPECT_TRUE(
      fakes::eventually([&] { return token(*another).has_value() && token(*of).has_value(); }));
}

TEST_F(RcFabricTest, ADeviceThatFailsDuringARegistrationMakesItWhenItIsBack) {
  const auto of = region();
  verbs_.hold_next("rxe0", "ibv_reg_mr");
  auto slow = std::async(std::launch::async, [this] { return region(); });
  ASSERT_TRUE(verbs_.wait_for_held("rxe0", "ibv_reg_mr"));
  verbs_.send_event("rxe0", IBV_EVENT_DEVICE_FATAL);
  ASSERT_TRUE(fakes::eventually([&] { return !fabric().is_up(); }));
  verbs_.fail_next("rxe0", "ibv_reg_mr", EIO);
  verbs_.let_go("rxe0", "ibv_reg_mr");
  const auto made = slow.get();  // not an error: the device failed, not the memory
  EXPECT_TRUE(
      fakes::eventually([&] { return token(*made).has_value() && token(*of).has_value(); }));
  EXPECT_EQ(verbs_.busy_destructions(), 0);
}

// A key that could not be deregistered may still let a server write.
TEST_F(RcFabricTest, DeregistersAKeyThatADeviceThatFailedKeptBeforeItRegistersAgain) {
  const auto of = region();
  verbs_.fail_next("rxe0", "ibv_dereg_mr", EBUSY, 2);
  verbs_.send_event("rxe0", IBV_EVENT_DEVICE_FATAL);
  EXPECT_TRUE(fakes::eventually([&] { return verbs_.registrations().size() == 2; }));
  EXPECT_FALSE(verbs_.registrations()[0].is_alive);
  EXPECT_TRUE(fakes::eventually([&] { return token(*of).has_value(); }));
  EXPECT_EQ(verbs_.busy_destructions(), 0) << "the old device outlives what is registered with it";
}

TEST_F(RcFabricTest, ExplainsTheLimitOnLockedMemory) {
  static_cast<void>(fabric());
  verbs_.fail_next("rxe0", "ibv_reg_mr", ENOMEM);
  const auto refused = fabric().register_memory({.fd = -1, .offset_bytes = 0, .bytes = memory_},
                                                Access::kRemoteWrite);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNoMemory);
}

TEST_F(RcFabricTest, DestroysEverythingAtItsEnd) {
  {
    const auto of = region();
    ASSERT_TRUE(token(*of));
  }
  fabric_.reset();
  EXPECT_EQ(verbs_.live_objects(), 0);
  EXPECT_EQ(verbs_.busy_destructions(), 0) << "in order of dependency";
}

}  // namespace
}  // namespace s3rdmafs::rdma::verbs
