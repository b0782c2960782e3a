// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

namespace s3rdmafs::metrics {

/// The facts that decide where a user's daemons have their sockets. Plain value.
struct RuntimePlaces {
  uid_t user = 0;                  ///< the effective one
  std::string runtime;             ///< XDG_RUNTIME_DIR; empty: not set
  std::string home;                ///< HOME; empty: not set
  std::string temporary = "/tmp";  ///< a folder in which every user may make folders

  /// Of the running process: reads the environment.
  [[nodiscard]] static RuntimePlaces of_this_process();
};

/// The folder for sockets, which may not exist yet: /run/s3rdmafs for root; for others one in
/// XDG_RUNTIME_DIR; without that /tmp/s3rdmafs-UID, or ~/.s3rdmafs if another user has made the
/// first one. A daemon and the commands that look for it get the same. s3rdmafs/base/unix_socket.h
/// checks that it is safe.
[[nodiscard]] std::string runtime_folder(const RuntimePlaces& places);

}  // namespace s3rdmafs::metrics
