// SPDX-License-Identifier: Apache-2.0
// Errors that several operations of FileSystem return.
#pragma once

#include <cstdint>
#include <string>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::vfs {

[[nodiscard]] inline std::unexpected<Error> no_such_handle(std::uint64_t handle) {
  return fail(ErrorCode::kInvalidArgument, "no open handle " + std::to_string(handle));
}

[[nodiscard]] inline std::unexpected<Error> read_only() {
  return fail(ErrorCode::kReadOnly, "the mount is read-only: write.mode is \"off\"");
}

}  // namespace s3rdmafs::vfs
