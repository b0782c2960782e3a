// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fuse/lowlevel.h"
#include "vfs/file_system.h"

namespace s3rdmafs::fuse {

/// The process (thread group) that a request comes from; 0 where the kernel does not say, as for a
/// process of another PID name space.
[[nodiscard]] vfs::ProcessId process_of(fuse_req_t request);

[[nodiscard]] bool is_running(vfs::ProcessId process);

}  // namespace s3rdmafs::fuse
