// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/rdma/recording_verbs.h"
#include "fakes/value_of.h"
#include "rdma/mlx5/dc_fabric.h"
#include "rdma/mlx5/dc_token.h"

namespace s3rdmafs::rdma::mlx5 {

/// A dc fabric with two rails, on devices that are not there.
class DcTest : public ::testing::Test {
 protected:
  Fabric& fabric() {
    if (!fabric_) fabric_ = fakes::value_of(make_dc_fabric(options_, clock_, metrics_));
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
  /// The next token's fields; its request ends with `fate`.
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
  [[nodiscard]] bool can_write(const std::string& device, const DcToken& token) const {
    return verbs_.can_write(device, token.rkey, token.window_address, token.window_bytes);
  }
  void set_port_state(const std::string& device, ibv_port_state state) {
    verbs_.change_port(device, 1, [state](fakes::FakePort& port) { port.state = state; });
    verbs_.send_event(device,
                      state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
  }
  [[nodiscard]] std::vector<std::string> functions_since(std::size_t first,
                                                         const std::string& device) const {
    std::vector<std::string> names;
    const auto calls = verbs_.calls();
    for (std::size_t i = first; i < calls.size(); ++i) {
      if (calls[i].device == device) names.push_back(calls[i].function);
    }
    return names;
  }

  fakes::RecordingVerbs verbs_{
      {{.name = "mlx5_0", .ports = {fakes::port_with_address(1)}},
       {.name = "mlx5_1", .ports = {fakes::port_with_address(2)}},
       {.name = "rxe0", .ports = {fakes::port_with_address(3)}, .is_mlx5 = false}}};
  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  DcOptions options_{.rails = {{.device = "mlx5_0", .port = 1, .gid_index = 0},
                               {.device = "mlx5_1", .port = 1, .gid_index = 0}},
                     .dc_key = 0xffeeddcc};
  std::vector<std::byte> memory_ = std::vector<std::byte>(64UL * 1024);
  std::unique_ptr<Fabric> fabric_;  // before its regions, which tests hold
};

}  // namespace s3rdmafs::rdma::mlx5
