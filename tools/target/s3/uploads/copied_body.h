// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "target/s3/range.h"
#include "target/s3/uploads/upload.h"

namespace s3rdmafs::target {

/// Copies a range of an object into an empty body. The kernel copies, and nothing is read, where
/// the source's own ETag and checksums say all that the copy's are made of. Errors: of the file
/// system.
[[nodiscard]] S3Result<BodySummary> copy_body(const Services& services, const OpenObject& source,
                                              const ByteRange& range, UploadBody& body);

}  // namespace s3rdmafs::target
