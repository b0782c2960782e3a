// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace s3rdmafs::daemon {

/// Keeps what this process knows, secret keys among it, from other processes of the same user and
/// from core files: none may trace it or read its memory (PR_SET_DUMPABLE of prctl(2)). Its files
/// in /proc then belong to root; the process itself may still read them. Call before secrets are
/// read.
void keep_memory_private() noexcept;

}  // namespace s3rdmafs::daemon
