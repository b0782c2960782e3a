// SPDX-License-Identifier: Apache-2.0
// Every attribute a DC target is made with, and in which order, against s3rdmafs-protocol(7).
#include "rdma/mlx5/dc_target.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/rdma/recording_verbs.h"
#include "fakes/resource_limit.h"
#include "fakes/value_of.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

using fakes::FakeGid;
using fakes::FakePort;
using fakes::kLinkLocal;
using fakes::RecordingVerbs;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kDcKey = 0xffeeddcc;
constexpr std::uint64_t kIova = 0x5a5a'0000'0000'0000;
const FakeGid kIpv4{.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7}};
const FakePort kRocePort{.active_mtu = IBV_MTU_1024, .lid = 0, .gids = {kLinkLocal, kIpv4}};
const FakePort kInfiniBandPort{.active_mtu = IBV_MTU_4096,
                               .lid = 0x2a,
                               .link_layer = IBV_LINK_LAYER_INFINIBAND,
                               .gids = {kLinkLocal}};
const RailPort kRoce{.device = "mlx5_0", .port = 1, .gid_index = 1};

std::vector<std::string> functions(const RecordingVerbs& verbs) {
  std::vector<std::string> names;
  for (const auto& call : verbs.calls()) names.push_back(call.function);
  return names;
}

std::unique_ptr<DcTarget> open(const RailPort& where) {
  return fakes::value_of(DcTarget::open(where, kDcKey));
}

Error open_error(const RailPort& where) {
  auto target = DcTarget::open(where, kDcKey);
  return target ? Error{ErrorCode::kExists, "it opened"} : target.error();
}

// Why memory is not registered where the kernel answers so.
Error registration_error(int kernel_error) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort}}});
  const auto target = open(kRoce);
  verbs.fail_next("mlx5_0", "ibv_reg_mr", kernel_error);
  std::vector<std::byte> memory(4096);
  const auto region = target->register_memory(memory, kIova, Access::kRemoteWrite);
  return region ? Error{ErrorCode::kExists, "it was registered"} : region.error();
}

TEST(DcTarget, IsMadeInOrderOfDependencyAndEndedInReverse) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort}}});
  auto target = open(kRoce);
  EXPECT_THAT(functions(verbs),
              ElementsAre("ibv_open_device", "ibv_alloc_pd", "ibv_create_cq", "ibv_create_srq",
                          "mlx5dv_create_qp", "ibv_modify_qp", "ibv_modify_qp"));
  target.reset();
  EXPECT_THAT(
      functions(verbs),
      ElementsAre("ibv_open_device", "ibv_alloc_pd", "ibv_create_cq", "ibv_create_srq",
                  "mlx5dv_create_qp", "ibv_modify_qp", "ibv_modify_qp", "ibv_destroy_qp",
                  "ibv_destroy_srq", "ibv_destroy_cq", "ibv_dealloc_pd", "ibv_close_device"));
  EXPECT_EQ(verbs.live_objects(), 0);
  EXPECT_EQ(verbs.busy_destructions(), 0);
}

TEST(DcTarget, IsADriverQueuePairOfTypeDctWithTheAccessKey) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort}}});
  const auto target = open(kRoce);
  const auto seen = verbs.queue_pairs().at(0);

  EXPECT_EQ(seen.init.qp_type, IBV_QPT_DRIVER);
  EXPECT_EQ(seen.init.comp_mask, IBV_QP_INIT_ATTR_PD) << "libmlx5 refuses any other bit";
  EXPECT_NE(seen.init.pd, nullptr);
  EXPECT_NE(seen.init.srq, nullptr);
  EXPECT_NE(seen.init.recv_cq, nullptr);
  EXPECT_EQ(seen.init.cap.max_send_wr, 0U) << "nothing is ever posted";
  EXPECT_EQ(seen.mlx5.comp_mask, MLX5DV_QP_INIT_ATTR_MASK_DC);
  EXPECT_EQ(seen.mlx5.dc_init_attr.dc_type, MLX5DV_DCTYPE_DCT);
  EXPECT_EQ(seen.mlx5.dc_init_attr.dct_access_key, kDcKey);
}

TEST(DcTarget, GoesToInitAndThenToReadyToReceiveAndNoFurther) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort}}});
  const auto target = open(kRoce);
  const auto steps = verbs.queue_pairs().at(0).modifications;
  ASSERT_EQ(steps.size(), 2U);

  const auto& [init, init_mask] = steps[0];
  EXPECT_EQ(init_mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  EXPECT_EQ(init.qp_state, IBV_QPS_INIT);
  EXPECT_EQ(init.pkey_index, 0);
  EXPECT_EQ(init.port_num, 1);
  EXPECT_EQ(init.qp_access_flags, unsigned{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ});

  const auto& [ready, ready_mask] = steps[1];
  EXPECT_EQ(ready_mask, IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV);
  EXPECT_EQ(ready.qp_state, IBV_QPS_RTR);
  EXPECT_EQ(ready.path_mtu, IBV_MTU_1024) << "the port's active MTU";
  EXPECT_EQ(ready.min_rnr_timer, 12);
  EXPECT_EQ(ready.ah_attr.port_num, 1);
  EXPECT_EQ(ready.ah_attr.is_global, 1);
  EXPECT_EQ(ready.ah_attr.grh.sgid_index, 1);
  EXPECT_EQ(ready.ah_attr.grh.hop_limit, 64);
  EXPECT_EQ(ready.ah_attr.grh.traffic_class, 0) << "unmarked, unless it is told otherwise";
  EXPECT_EQ(ready.ah_attr.sl, 0);
}

TEST(DcTarget, ReadsItsNumberOnlyWhenReadyToReceive) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort}}});
  EXPECT_NE(open(kRoce)->address().dct_number, 0U);
}

TEST(DcTarget, IsReachedByItsGidOnRoce) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort}}});
  const DcAddress address = open(kRoce)->address();
  EXPECT_EQ(address.lid, 0);
  EXPECT_TRUE(address.has_gid);
  EXPECT_EQ(address.gid, kIpv4.raw);
}

TEST(DcTarget, IsReachedByItsLidAloneOnInfiniBandWhereThatIsWanted) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort, kInfiniBandPort}}});
  const auto target = open({.device = "mlx5_0", .port = 2, .gid_index = std::nullopt});
  EXPECT_EQ(target->address().lid, 0x2a);
  EXPECT_FALSE(target->address().has_gid);
  EXPECT_EQ(target->address().gid, DcAddress{}.gid);
  const auto ready = verbs.queue_pairs().at(0).modifications.at(1).first;
  EXPECT_EQ(ready.ah_attr.is_global, 0);
  EXPECT_EQ(ready.ah_attr.port_num, 2);
}

TEST(DcTarget, IsReachedByLidAndGidOnInfiniBand) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kInfiniBandPort}}});
  const auto target = open({.device = "mlx5_0", .port = 1, .gid_index = 0});
  EXPECT_EQ(target->address().lid, 0x2a);
  EXPECT_TRUE(target->address().has_gid);
  EXPECT_EQ(target->address().gid, kLinkLocal.raw);
  const auto ready = verbs.queue_pairs().at(0).modifications.at(1).first;
  EXPECT_EQ(ready.ah_attr.is_global, 1);
  EXPECT_EQ(ready.ah_attr.grh.sgid_index, 0);
}

// The bytes of a PUT leave through the target: the server reads them.
TEST(DcTarget, MarksItsPacketsAsConfigured) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort}}});
  RailPort where = kRoce;
  where.marks = {.traffic_class = 104, .service_level = 3};
  const auto target = open(where);
  const auto ready = verbs.queue_pairs().at(0).modifications.at(1).first;
  EXPECT_EQ(ready.ah_attr.grh.traffic_class, 104);
  EXPECT_EQ(ready.ah_attr.sl, 3);
}

TEST(DcTarget, HasAServiceLevelOnInfiniBandWithoutAGlobalRouteToo) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kInfiniBandPort}}});
  const auto target = open({.device = "mlx5_0",
                            .port = 1,
                            .gid_index = std::nullopt,
                            .marks = {.traffic_class = 0, .service_level = 15}});
  EXPECT_EQ(verbs.queue_pairs().at(0).modifications.at(1).first.ah_attr.sl, 15);
}

TEST(DcTarget, RegistersMemoryWithTheLeastAccessThatADirectionNeeds) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort}}});
  const auto target = open(kRoce);
  std::vector<std::byte> memory(4096);
  const auto for_get = target->register_memory(memory, kIova, Access::kRemoteWrite);
  const auto for_put = target->register_memory(memory, kIova, Access::kRemoteRead);
  ASSERT_TRUE(for_get && for_put);
  const auto seen = verbs.registrations();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].access, unsigned{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE});
  EXPECT_EQ(seen[1].access, unsigned{IBV_ACCESS_REMOTE_READ});
  EXPECT_EQ(seen[0].address, memory.data());
  EXPECT_EQ(seen[0].length, memory.size());
  EXPECT_EQ(seen[0].iova, kIova);
}

TEST(DcTarget, ReportsWhyARailCannotWork) {
  FakePort down = kRocePort;
  down.state = IBV_PORT_DOWN;
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort, down}},
                        {.name = "rxe0", .ports = {kRocePort}, .is_mlx5 = false}});

  EXPECT_EQ(open_error({.device = "mlx5_7", .port = 1, .gid_index = 1}).code, ErrorCode::kNotFound);
  const Error other = open_error({.device = "rxe0", .port = 1, .gid_index = 1});
  EXPECT_EQ(other.code, ErrorCode::kUnsupported);
  EXPECT_THAT(other.detail, HasSubstr("use rdma.fabric = \"rc\""));
  EXPECT_EQ(open_error({.device = "mlx5_0", .port = 2, .gid_index = 1}).code,
            ErrorCode::kUnreachable);
  EXPECT_EQ(open_error({.device = "mlx5_0", .port = 1, .gid_index = std::nullopt}).code,
            ErrorCode::kNotFound)
      << "RoCE without a GID";
  EXPECT_THAT(open_error({.device = "mlx5_0", .port = 1, .gid_index = 9}).detail,
              HasSubstr("read GID 9"));
  EXPECT_EQ(verbs.live_objects(), 0);
}

// The kernel's table has empty entries, and an address that is taken away leaves another.
TEST(DcTarget, RefusesAnEmptyEntryOfTheGidTableByName) {
  FakePort port = kRocePort;
  port.gids.emplace_back();
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort, port}}});
  const Error error = open_error({.device = "mlx5_0", .port = 2, .gid_index = 2});
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(error.detail, HasSubstr("mlx5_0:2: entry 2 of its GID table is empty"));
  EXPECT_THAT(error.detail, HasSubstr("rdma.gid_index")) << "what to do";
  EXPECT_TRUE(verbs.queue_pairs().empty()) << "at once, before anything is made";
  EXPECT_EQ(verbs.live_objects(), 0);
  EXPECT_TRUE(DcTarget::open({.device = "mlx5_0", .port = 2, .gid_index = 1}, kDcKey))
      << "the control: the entry before it";
}

// A failure at any step destroys what was made before.
TEST(DcTarget, IsDestroyedWholeWhereOneStepFails) {
  for (const char* step : {"ibv_open_device", "ibv_alloc_pd", "ibv_create_cq", "ibv_create_srq",
                           "mlx5dv_create_qp", "ibv_modify_qp"}) {
    RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort}}});
    verbs.fail_next("mlx5_0", step, EINVAL);
    const Error error = open_error(kRoce);
    EXPECT_EQ(error.code, ErrorCode::kSystem) << step;
    EXPECT_THAT(error.detail, HasSubstr("Invalid argument")) << step;
    EXPECT_EQ(verbs.live_objects(), 0) << step;
    EXPECT_EQ(verbs.busy_destructions(), 0) << step;
  }
}

TEST(DcTarget, ExplainsTheLimitOnLockedMemory) {
  const Error error = registration_error(ENOMEM);
  EXPECT_EQ(error.code, ErrorCode::kNoMemory);
  EXPECT_THAT(error.detail, HasSubstr("locked"));
}

// The kernel's answer where a process may lock nothing at all.
TEST(DcTarget, ExplainsALimitOfZeroAsItExplainsAnyOther) {
  const fakes::ResourceLimit none(RLIMIT_MEMLOCK, 0);
  const Error error = registration_error(EPERM);
  EXPECT_EQ(error.code, ErrorCode::kNoMemory);
  EXPECT_THAT(error.detail, HasSubstr("LimitMEMLOCK=infinity"));
}

TEST(DcTarget, AcknowledgesEventsAndNeverWaitsForOne) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort, kRocePort}}});
  const auto target = open(kRoce);
  EXPECT_EQ(target->next_event(), std::nullopt);

  verbs.send_event("mlx5_0", IBV_EVENT_PORT_ERR, 2);
  EXPECT_EQ(target->next_event(), std::nullopt) << "of the other port";
  verbs.send_event("mlx5_0", IBV_EVENT_PORT_ERR, 1);
  EXPECT_EQ(target->next_event(), DcTarget::Event::kPortMayDiffer);
  verbs.send_event("mlx5_0", IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(target->next_event(), std::nullopt) << "a server's fault";
  verbs.send_event("mlx5_0", IBV_EVENT_DEVICE_FATAL);
  EXPECT_EQ(target->next_event(), DcTarget::Event::kBroken);
  EXPECT_EQ(verbs.unacknowledged_events(), 0);
}

TEST(DcTarget, NoticesWhenItsPortIsNoLongerTheOneItWasMadeFor) {
  RecordingVerbs verbs({{.name = "mlx5_0", .ports = {kRocePort}}});
  const auto target = open(kRoce);
  EXPECT_EQ(target->port(), DcTarget::Port::kAsOpened);
  const auto port_after = [&](const std::function<void(FakePort&)>& change) {
    verbs.change_port("mlx5_0", 1, change);
    const DcTarget::Port port = target->port();
    verbs.change_port("mlx5_0", 1, [](FakePort& p) { p = kRocePort; });
    return port;
  };
  EXPECT_EQ(port_after([](FakePort& p) { p.state = IBV_PORT_DOWN; }), DcTarget::Port::kDown);
  EXPECT_EQ(port_after([](FakePort& p) { p.active_mtu = IBV_MTU_4096; }), DcTarget::Port::kChanged);
  EXPECT_EQ(port_after([](FakePort& p) { p.gids[1].raw[15] = 8; }), DcTarget::Port::kChanged);
  EXPECT_EQ(port_after([](FakePort& p) { p.gids.clear(); }), DcTarget::Port::kChanged);
}

}  // namespace
}  // namespace s3rdmafs::rdma::mlx5
