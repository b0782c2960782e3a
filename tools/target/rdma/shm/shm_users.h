// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <optional>

namespace s3rdmafs::target {

/// The users whose mounts the shm fabric serves, since a session needs no key.
struct ShmUsers {
  uid_t own = ::geteuid();    ///< served always, as root is
  std::optional<uid_t> also;  ///< one more
  bool everybody = false;

  [[nodiscard]] bool serves(uid_t user) const {
    return everybody || user == 0 || user == own || user == also;
  }
};

}  // namespace s3rdmafs::target
