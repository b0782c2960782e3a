// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::fuse {

/// The one place where an error becomes an errno. The table is part of s3rdmafs-semantics(7).
[[nodiscard]] int errno_of(ErrorCode code) noexcept;

}  // namespace s3rdmafs::fuse
