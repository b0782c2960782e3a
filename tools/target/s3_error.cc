// SPDX-License-Identifier: Apache-2.0
#include "target/s3_error.h"

#include <cerrno>
#include <system_error>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {

std::unexpected<S3Error> refuse_errno(std::string_view what, int saved_errno) {
  const std::string reason = std::generic_category().message(saved_errno);
  switch (saved_errno) {
    case EACCES:
    case EPERM:
      return refuse(kAccessDenied, fmt::format("{}: {}", what, reason));
    case EISDIR:
    case ENOTDIR:
    case EEXIST:
    case ELOOP:
    case ENOTEMPTY:
      return refuse(kKeyConflict);
    case ENAMETOOLONG:
      return refuse(kInvalidArgument, "A component of the key is too long for this file system.");
    case EXDEV:
      return refuse(kInternalError,
                    "The bucket is on another file system than the server's --root; it can be read "
                    "but not written.");
    default:
      log::error("{}: {}", what, reason);
      return refuse(kInternalError, fmt::format("{}: {}", what, reason));
  }
}

}  // namespace s3rdmafs::target
