// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "fuse/lowlevel.h"
#include "vfs/types.h"

namespace s3rdmafs::fuse {

/// The process (thread group) that a request comes from; 0 if the kernel does not say, as for a
/// process of another PID namespace.
[[nodiscard]] vfs::ProcessId process_of(fuse_req_t request);

/// The same of a thread; its own number if the kernel does not know it any more.
[[nodiscard]] vfs::ProcessId process_of_thread(pid_t thread);

/// The command's name, 15 bytes at most, made printable; empty for a process that has ended.
/// Source: proc(5).
[[nodiscard]] std::string name_of_process(vfs::ProcessId process);

[[nodiscard]] bool is_running(vfs::ProcessId process);

/// Whether a process has a descriptor of a file with this inode number. False if the kernel does
/// not tell: before Linux 5.14, for a process that this one may not inspect, or for one that is
/// ending.
[[nodiscard]] bool has_descriptor(vfs::ProcessId process, vfs::Ino ino);

}  // namespace s3rdmafs::fuse
