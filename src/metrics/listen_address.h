// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::metrics {

/// Listens on "ADDRESS:PORT", an IPv6 address in brackets. Errors: kInvalidArgument, kSystem.
[[nodiscard]] Result<UniqueFd> listen_on_tcp(const std::string& address);

/// Listens on a UNIX socket, which gets `group` and then `mode`. Its folder is made if it is
/// missing; all users may enter it. Takes over a name that a dead process left. Errors:
/// kInvalidArgument (no such group), kBusy (a process listens there), kSystem.
/// @param group  a name or a number; empty: that of the process
[[nodiscard]] Result<UniqueFd> listen_on_shared_socket(const std::string& path, mode_t mode,
                                                       const std::string& group);

}  // namespace s3rdmafs::metrics
