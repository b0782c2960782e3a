// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

namespace s3rdmafs::metrics {

/// What decides where a user's daemons have their sockets. Plain value.
struct RuntimePlaces {
  uid_t user = 0;                  ///< the effective one
  std::string runtime;             ///< XDG_RUNTIME_DIR; empty: not set
  std::string home;                ///< HOME; empty: not set
  std::string temporary = "/tmp";  ///< where everybody may make folders

  /// Of the running process: reads the environment.
  [[nodiscard]] static RuntimePlaces of_this_process();
};

/// The folder for sockets, which may not exist yet: /run/s3rdmafs for root; for others one in
/// XDG_RUNTIME_DIR; without that /tmp/s3rdmafs-UID, or ~/.s3rdmafs where another user was there
/// first. The same for a daemon and for those who look for it. Whether it is safe is checked by
/// whoever uses it (base/unix_socket.h).
[[nodiscard]] std::string runtime_folder(const RuntimePlaces& places);

}  // namespace s3rdmafs::metrics
