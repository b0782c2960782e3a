// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace s3rdmafs::daemon {

/// Keeps the memory of this process, which holds secret keys, from other processes of the same user
/// and out of core files: no process may trace it (PR_SET_DUMPABLE of prctl(2)). Its files in /proc
/// then belong to root; the process itself may still read them. Call before secrets are read.
void keep_memory_private() noexcept;

}  // namespace s3rdmafs::daemon
