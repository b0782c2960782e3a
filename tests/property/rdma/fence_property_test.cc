// SPDX-License-Identifier: Apache-2.0
// The fence over devices that use their keys again: 100,000 random fills, fills that are given up,
// fences, memory that is registered for one fill only, and devices that fail and come back. No
// token may reach memory that is registered for something else after the token was made.
//
// The control is the same run with memory registered at its own address. It must find such tokens.
#include <array>
#include <chrono>
#include <future>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "fakes/fake_clock.h"
#include "fakes/rdma/fence_checker.h"
#include "fakes/rdma/identity_addresses.h"
#include "fakes/rdma/recording_verbs.h"
#include "fakes/rdma/scripted_rc_server.h"
#include "rdma/mlx5/dc_fabric.h"
#include "rdma/mlx5/dc_token.h"
#include "rdma/verbs/rc_fabric.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/rdma/rc_wire.h"
#include "s3rdmafs/rdma/rdma_devices.h"

namespace s3rdmafs::rdma {
namespace {

using fakes::HandedOut;
using verbs::AddressSpace;

constexpr int kSteps = 100'000;
constexpr std::size_t kSlots = 12;
constexpr std::size_t kSlotBytes = 64UL * 1024;

/// A fabric over recorded devices, and how to read its tokens.
class World {
 public:
  virtual ~World() = default;
  [[nodiscard]] virtual Fabric& fabric() = 0;
  [[nodiscard]] virtual fakes::RecordingVerbs& verbs() = 0;
  [[nodiscard]] virtual const std::vector<std::string>& devices() const = 0;
  [[nodiscard]] virtual HandedOut read(const std::string& token) const = 0;
  /// One step in so many is what costs this fabric more than memory.
  [[nodiscard]] virtual unsigned steps_a_loss() const = 0;
  [[nodiscard]] virtual unsigned fills_a_broken_session() const = 0;
};

class DcWorld final : public World {
 public:
  static constexpr const char* kName = "dc";
  explicit DcWorld(AddressSpace& addresses)
      : fabric_(mlx5::make_dc_fabric({.rails = {{.device = "mlx5_0", .port = 1, .gid_index = 0},
                                                {.device = "mlx5_1", .port = 1, .gid_index = 0}},
                                      .dc_key = 1},
                                     clock_, metrics_, addresses)
                    .value()) {}
  Fabric& fabric() override { return *fabric_; }
  fakes::RecordingVerbs& verbs() override { return verbs_; }
  const std::vector<std::string>& devices() const override { return devices_; }
  HandedOut read(const std::string& token) const override {
    const auto read = mlx5::DcToken::parse(token, mlx5::DcTokenForm::k81).value();
    return {.device = devices_.at(read.target.gid.back()),
            .rkey = read.rkey,
            .address = read.window_address,
            .length = read.window_bytes};
  }
  unsigned steps_a_loss() const override { return 200; }
  unsigned fills_a_broken_session() const override { return 8; }

 private:
  const std::vector<std::string> devices_{"mlx5_0", "mlx5_1"};
  fakes::RecordingVerbs verbs_{{{.name = "mlx5_0", .ports = {fakes::port_with_address(0)}},
                                {.name = "mlx5_1", .ports = {fakes::port_with_address(1)}}}};
  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  std::unique_ptr<Fabric> fabric_;
};

class RcWorld final : public World {
 public:
  static constexpr const char* kName = "rc";
  explicit RcWorld(AddressSpace& addresses)
      : fabric_(verbs::make_rc_fabric(server_.options(), clock_, metrics_, addresses).value()) {}
  Fabric& fabric() override { return *fabric_; }
  fakes::RecordingVerbs& verbs() override { return verbs_; }
  const std::vector<std::string>& devices() const override { return devices_; }
  HandedOut read(const std::string& token) const override {
    const auto read = rc::parse_object_token(token).value();
    return {.device = "rxe0",
            .rkey = read.rkey,
            .address = read.address,
            .length = static_cast<std::size_t>(read.size_bytes)};
  }
  unsigned steps_a_loss() const override { return 1000; }
  unsigned fills_a_broken_session() const override { return 200; }

 private:
  const std::vector<std::string> devices_{"rxe0"};
  fakes::RecordingVerbs verbs_{
      {{.name = "rxe0", .ports = {fakes::port_with_address(1)}, .is_mlx5 = false}}};
  fakes::ScriptedRcServer server_;
  const SystemClock clock_;
  metrics::Registry metrics_;
  std::unique_ptr<Fabric> fabric_;
};

class RandomRun {
 public:
  explicit RandomRun(World& world) : world_(world) {}

  fakes::FenceChecker::Findings go(unsigned seed) {
    random_.seed(seed);
    for (int step = 0; step < kSteps; ++step) {
      if (one_in(world_.steps_a_loss())) lose_device();
      if (one_in(2000)) refuse("ibv_reg_mr", ENOMEM);
      if (one_in(50'000)) refuse("ibv_dereg_mr", EIO);
      Slot& slot = slots_.at(random_() % kSlots);
      switch (random_() % 8) {
        case 0:
          slot.region.reset();
          break;
        case 1:
          if (slot.region) static_cast<void>(slot.region->fence());
          break;
        default:
          fill(slot);
      }
    }
    for (Slot& slot : slots_) slot.region.reset();
    return checker_.check(world_.verbs().registrations());
  }

 private:
  struct Slot {
    std::vector<std::byte> memory = std::vector<std::byte>(kSlotBytes);
    std::unique_ptr<MemoryRegion> region;
  };

  bool one_in(unsigned n) { return random_() % n == 0; }
  const std::string& any_device() {
    return world_.devices().at(random_() % world_.devices().size());
  }
  void lose_device() { world_.verbs().send_event(any_device(), IBV_EVENT_DEVICE_FATAL); }
  void refuse(const std::string& function, int error) {
    world_.verbs().fail_next(any_device(), function, error);
  }

  void fill(Slot& slot) {
    if (!slot.region) {
      auto made = world_.fabric().register_memory(
          {.fd = -1, .offset_bytes = 0, .bytes = slot.memory}, Access::kRemoteWrite);
      if (!made) return;  // refused
      slot.region = *std::move(made);
    }
    const std::size_t offset = random_() % kSlotBytes;
    const std::size_t length = 1 + random_() % (kSlotBytes - offset);
    auto token = token_of(*slot.region, offset, length);
    if (!token) return wait_until_up();
    checker_.on_token(world_.read(token->text()), world_.verbs().registration_count());
    if (one_in(world_.fills_a_broken_session())) {
      token->end(one_in(2) ? TokenFate::kGivenUp : TokenFate::kUnanswered);
      if (one_in(2)) static_cast<void>(slot.region->fence());  // else some time later
    } else {
      token->end(TokenFate::kAnswered);
    }
  }

  // Otherwise the steps would be over before a device that failed is back.
  void wait_until_up() {
    for (int attempt = 0; attempt < 30'000 && !world_.fabric().is_up(); ++attempt) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  static Result<Token> token_of(MemoryRegion& region, std::size_t offset, std::size_t length) {
    std::promise<Result<Token>> promise;
    region.token(offset, length, Deadline::max(),
                 [&promise](Result<Token> token) { promise.set_value(std::move(token)); });
    return promise.get_future().get();  // bounded by the fabric
  }

  World& world_;
  std::mt19937 random_;
  std::array<Slot, kSlots> slots_;
  fakes::FenceChecker checker_;
};

// Over one kind of world.
template <typename AnyWorld>
class FenceProperty : public testing::Test {
 protected:
  // A line for each device that is lost would be hundreds.
  FenceProperty() { spdlog::set_level(spdlog::level::err); }

  // How many tokens reach what was registered after them.
  static std::size_t intersections(AddressSpace& addresses) {
    AnyWorld world(addresses);
    const auto findings = RandomRun(world).go(11);
    std::cout << AnyWorld::kName << ": " << findings.tokens << " tokens, " << findings.registrations
              << " registrations, " << findings.keys_used_again
              << " with a key that was used before, " << findings.intersections
              << " within reach of an older token\n";
    EXPECT_GT(findings.tokens, kSteps / 10U);
    EXPECT_GT(findings.keys_used_again, kSteps / 20U) << "otherwise the run proves nothing";
    EXPECT_EQ(findings.tokens_of_nothing, 0U);
    return findings.intersections;
  }
};

struct WorldNames {
  template <typename AnyWorld>
  static std::string GetName(int /*number*/) {
    return AnyWorld::kName;
  }
};
using Worlds = testing::Types<DcWorld, RcWorld>;
TYPED_TEST_SUITE(FenceProperty, Worlds, WorldNames);

TYPED_TEST(FenceProperty, NoTokenEverReachesWhatIsRegisteredLater) {
  verbs::FreshAddresses fresh{verbs::FreshAddresses::kLowest};
  EXPECT_EQ(TestFixture::intersections(fresh), 0U);
}

TYPED_TEST(FenceProperty, WithMemoryAtItsOwnAddressTheSameRunFindsTokensThatDo) {
  fakes::IdentityAddresses identity;
  EXPECT_GT(TestFixture::intersections(identity), 0U);
}

}  // namespace
}  // namespace s3rdmafs::rdma
