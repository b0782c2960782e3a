// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <thread>

#include <gtest/gtest.h>

#include "unit/disk/disk_rig.h"

namespace s3rdmafs::disk {

/// From here on a system call fails for the calling thread and those that it starts. False where
/// the machine allows no such rule.
inline bool refuse(std::uint32_t system_call, std::uint32_t with_errno) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, system_call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | with_errno),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(rules), .filter = rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Starts a tier for whose threads a system call fails. False as refuse().
inline bool start_without(DiskRig& rig, std::uint32_t system_call, std::uint32_t with_errno) {
  bool is_refused = false;
  std::thread([&] {
    is_refused = refuse(system_call, with_errno);
    EXPECT_TRUE(rig.start());
  }).join();
  return is_refused;
}

}  // namespace s3rdmafs::disk
