// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "fakes/s3/scripted_http_server.h"
#include "rdma/verbs/rc_fabric.h"
#include "s3rdmafs/rdma/rc_wire.h"
#include "s3rdmafs/rdma/rdma_devices.h"

namespace s3rdmafs::fakes {

/// A server of the rc dialect that accepts every session, always with the same answer, and
/// transfers nothing.
class ScriptedRcServer {
 public:
  static constexpr const char* kSession = "ba6288ffa254eeaa9c2deff497aae8c0";

  ScriptedRcServer() {
    http_.then({.headers = {{"x-amz-rdma-session", kSession},
                            {"x-amz-rdma-psn", "2239bc"},
                            {"x-amz-rdma-reply",
                             rdma::rc::format_reply(
                                 {.queue_pair_number = 0x15,
                                  .gid = rdma::verbs::gid_of_address("192.0.2.9").value()})}}});
  }

  /// How a fabric reaches it.
  [[nodiscard]] rdma::verbs::RcOptions options(const rdma::verbs::PortWish& port = {}) const {
    const std::string url = http_.url();
    return {.port = port,
            .endpoint_url = url,
            .endpoint_host = "127.0.0.1",
            .endpoint_port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))),
            .connection = {},
            .sessions_max = 4};
  }
  [[nodiscard]] ScriptedHttpServer& http() { return http_; }

 private:
  ScriptedHttpServer http_;
};

}  // namespace s3rdmafs::fakes
