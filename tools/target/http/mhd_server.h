// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"
#include "target/http/message.h"

struct MHD_Daemon;

namespace s3rdmafs::target {

/// A TCP socket that listens.
struct Listener {
  UniqueFd socket;
  std::string address;  ///< "127.0.0.1:9000", as it is reached: the kernel's choice for port 0
  std::uint16_t port = 0;
};

/// Listens on "HOST:PORT" or "[V6]:PORT".
/// Errors: kInvalidArgument for another form, kSystem for a port in use (says so) and the like.
[[nodiscard]] Result<Listener> listen_on(const std::string& host_and_port);

/// GNU libmicrohttpd serving one Handler, a thread per connection: handlers may block on files, on
/// RDMA and on injected delays without holding up others, and the kernel spreads them over all
/// cores.
class MhdServer {
 public:
  /// Accepts connections when this returns. `handler` must outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<MhdServer>> start(Listener listener,
                                                                Handler& handler);
  /// Breaks the open connections and joins their threads.
  ~MhdServer();
  MhdServer(const MhdServer&) = delete;
  MhdServer& operator=(const MhdServer&) = delete;

 private:
  MhdServer() = default;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace s3rdmafs::target
