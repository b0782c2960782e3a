// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include "target/rdma/rc/rc_link.h"

namespace s3rdmafs::fakes {

/// A device whose clients' memory is this process's own: a remote address is a pointer. One test's
/// thread drives it.
class FakeRcConnector final : public target::RcConnector {
 public:
  int links_alive = 0;
  int pieces_until_failure = -1;  ///< transfers that still work; -1: all
  bool refuse_connections = false;

  Result<target::RcConnection> connect(const rdma::rc::Endpoint& client,
                                       std::uint32_t client_psn) override {
    last_client = client;
    last_psn = client_psn;
    if (refuse_connections) return fail(ErrorCode::kSystem, "no queue pair");
    return target::RcConnection{
        .endpoint = own_endpoint, .psn = own_psn, .link = std::make_unique<Link>(*this)};
  }

  rdma::rc::Endpoint own_endpoint{};
  std::uint32_t own_psn = 0x00ab12;
  rdma::rc::Endpoint last_client{};
  std::uint32_t last_psn = 0;

 private:
  class Link final : public target::RcLink {
   public:
    explicit Link(FakeRcConnector& device) : device_(device) { ++device_.links_alive; }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    ~Link() override { --device_.links_alive; }

    Result<void> write(const target::StagingBuffer& from, std::size_t length,
                       target::RemoteMemory to) override {
      if (!device_.may_move()) return fail(ErrorCode::kAccessDenied, "remote access error");
      std::memcpy(reinterpret_cast<void*>(to.address), from.bytes.data(), length);
      return {};
    }
    Result<void> read(const target::StagingBuffer& into, std::size_t length,
                      target::RemoteMemory from) override {
      if (!device_.may_move()) return fail(ErrorCode::kAccessDenied, "remote access error");
      std::memcpy(into.bytes.data(), reinterpret_cast<const void*>(from.address), length);
      return {};
    }

   private:
    FakeRcConnector& device_;
  };

  bool may_move() { return pieces_until_failure < 0 || pieces_until_failure-- > 0; }
};

}  // namespace s3rdmafs::fakes
