// SPDX-License-Identifier: Apache-2.0
#include "fuse/errno_map.h"

#include <cerrno>

namespace s3rdmafs::fuse {

int errno_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kNotFound:
      return ENOENT;
    case ErrorCode::kStale:
      return ESTALE;
    case ErrorCode::kAccessDenied:
    case ErrorCode::kNoCredentials:
      return EACCES;
    case ErrorCode::kInvalidArgument:
      return EINVAL;
    case ErrorCode::kNoMemory:
      return ENOMEM;
    case ErrorCode::kExists:
      return EEXIST;
    case ErrorCode::kIsDirectory:
      return EISDIR;
    case ErrorCode::kNotDirectory:
      return ENOTDIR;
    case ErrorCode::kNotEmpty:
      return ENOTEMPTY;
    case ErrorCode::kBusy:
      return EBUSY;
    case ErrorCode::kSequentialOnly:
      return EOPNOTSUPP;
    case ErrorCode::kTooLarge:
      return EFBIG;
    case ErrorCode::kNoSpace:
      return ENOSPC;
    case ErrorCode::kReadOnly:
      return EROFS;
    case ErrorCode::kNameTooLong:
      return ENAMETOOLONG;
    case ErrorCode::kNoAttribute:
      return ENODATA;
    // mv(1) and their like then copy and remove, which needs no rename.
    case ErrorCode::kTooManyKeys:
      return EXDEV;
    // Trouble of the store or the network: programs handle a failed read, and the log has the
    // cause. ETIMEDOUT and the like are not errors of read(2).
    case ErrorCode::kThrottled:
    case ErrorCode::kServerError:
    case ErrorCode::kUnreachable:
    case ErrorCode::kTimedOut:
    case ErrorCode::kCancelled:
    case ErrorCode::kProtocol:
    case ErrorCode::kCorrupt:
    case ErrorCode::kConfig:
    case ErrorCode::kUnsupported:
    case ErrorCode::kSystem:
      return EIO;
  }
  return EIO;
}

}  // namespace s3rdmafs::fuse
