// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace s3rdmafs::daemon {

/// Asks for as many descriptors as this process may have. Each object in memory as a whole has one,
/// each segment of the disk cache, and each connection to a server; shells hand down 1024, for the
/// sake of programs that use select(2), which nothing here does. Never fails: a mount works with
/// fewer. To be called before anything counts on them.
void raise_descriptor_limit();

}  // namespace s3rdmafs::daemon
