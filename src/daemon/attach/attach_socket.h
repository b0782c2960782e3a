// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "daemon/attach/attach_service.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon {

/// The path of the socket of a mount point: in a folder of its own, which every user may enter.
[[nodiscard]] std::string attach_socket_path(std::string_view mount_point);

/// Serves programs that read past FUSE on a UNIX socket, to which every user can connect: what a
/// program may read is decided by the descriptors that it passes. One thread; a request that waits
/// for the server does not hold up those of other connections.
class AttachSocket {
 public:
  /// Borrows the service, which must outlive every answer that is under way. Errors: kSystem. The
  /// socket file of a daemon that died is taken over.
  [[nodiscard]] static Result<std::unique_ptr<AttachSocket>> listen(std::string path,
                                                                    AttachService& service);
  /// Ends every connection, and removes the socket file.
  ~AttachSocket();
  AttachSocket(const AttachSocket&) = delete;
  AttachSocket& operator=(const AttachSocket&) = delete;

 private:
  class Connection;
  class Waker;

  AttachSocket(std::string path, AttachService& service, UniqueFd listener,
               std::shared_ptr<Waker> waker);
  void run(const std::stop_token& stop);
  void accept();
  /// False where the connection is to be ended.
  [[nodiscard]] bool receive(const std::shared_ptr<Connection>& connection);

  const std::string path_;
  AttachService& service_;
  const UniqueFd listener_;
  const std::shared_ptr<Waker> waker_;
  std::vector<std::shared_ptr<Connection>> connections_;  // the thread's
  std::jthread thread_;                                   // last: ends before the members it uses
};

}  // namespace s3rdmafs::daemon
