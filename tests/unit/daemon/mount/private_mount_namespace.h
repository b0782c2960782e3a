// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <functional>
#include <thread>

namespace s3rdmafs::daemon {

/// Runs `work` on a thread that has a mount namespace of its own: nothing else sees its mounts, and
/// they end with the thread.
/// @return false where this process may not make one (CAP_SYS_ADMIN); `work` was then not run
[[nodiscard]] inline bool in_private_mount_namespace(const std::function<void()>& work) {
  bool is_private = false;
  std::jthread([&] {
    is_private = ::unshare(CLONE_NEWNS) == 0 &&
                 ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    if (is_private) work();
  }).join();
  return is_private;
}

}  // namespace s3rdmafs::daemon
