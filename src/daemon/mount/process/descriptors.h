// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace s3rdmafs::daemon {

/// Raises the soft limit on descriptors (RLIMIT_NOFILE) to the hard one. Each object that is
/// resident as a whole takes one, as do each segment of the disk cache and each connection. Shells
/// set 1024 for the sake of programs that use select(2); s3rdmafs does not. A failure is logged, as
/// a mount works with fewer. Call before object_files_max().
void raise_descriptor_limit();

}  // namespace s3rdmafs::daemon
