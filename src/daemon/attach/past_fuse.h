// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>

#include "config/mount_config.h"
#include "daemon/attach/attach_socket.h"
#include "fuse/mount_context.h"

namespace s3rdmafs::daemon {

/// The part of a mount that serves programs past FUSE. Thread-safe.
class PastFuse {
 public:
  /// Listens on context.attach_socket; null without parts. Refuses every file until begin().
  /// Borrows all but the settings. Errors: kSystem.
  [[nodiscard]] static Result<std::unique_ptr<PastFuse>> listen(cache::ResidentParts* parts,
                                                                fuse::MountContext& context,
                                                                const config::MountConfig& config);

  /// @param device  of the mount (stat(2), st_dev)
  void begin(dev_t device) { device_ = device; }
  /// Ends every connection. Answers that are under way may still come, until the parts' owner is
  /// shut down.
  void stop() { socket_.reset(); }

 private:
  PastFuse(cache::ResidentParts& parts, fuse::MountContext& context,
           const config::MountConfig& config);
  [[nodiscard]] Result<AttachService::Opened> opened(int descriptor, pid_t process) const;

  fuse::MountContext& context_;
  std::atomic<dev_t> device_{0};
  AttachService service_;
  std::unique_ptr<AttachSocket> socket_;
};

}  // namespace s3rdmafs::daemon
