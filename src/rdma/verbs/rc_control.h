// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/connection_options.h"
#include "net/curl_handles.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/rdma/rc_wire.h"

namespace s3rdmafs::rdma::verbs {

/// The HTTP side of making RC sessions (s3rdmafs-protocol(7)): two POSTs without bodies, not
/// signed. Used by one thread at a time, but for cancel().
class RcControl {
 public:
  struct Options {
    std::string endpoint_url;  ///< scheme://host[:port]
    net::ConnectionOptions connection;
  };
  struct Accepted {
    std::string session_id;
    rc::Endpoint server;
    std::uint32_t server_psn = 0;
  };

  explicit RcControl(Options options);

  /// Errors: kUnsupported (no such path: the server does not speak rc), kThrottled (all its
  /// sessions are in use), kServerError, kUnreachable, kTimedOut, kProtocol, kCancelled.
  [[nodiscard]] Result<Accepted> connect(const rc::Endpoint& client, std::uint32_t client_psn);
  void disconnect(const std::string& session_id);

  /// Any thread. A request under way ends within a second; none begins afterwards.
  void cancel() noexcept { cancelled_ = true; }

 private:
  struct Answer {
    long status = 0;
    std::string session_id, reply, psn;
  };
  struct Header {
    std::string_view name;
    std::string value;
  };
  [[nodiscard]] Result<Answer> post(std::string_view path, std::span<const Header> headers);
  void set_options(std::string_view path, curl_slist* headers);

  const Options options_;
  std::atomic<bool> cancelled_{false};
  net::CurlEasy easy_;
};

}  // namespace s3rdmafs::rdma::verbs
