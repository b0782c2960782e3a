// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "target/s3/uploads/upload.h"
#include "target/store/uploads.h"

namespace s3rdmafs::target {

/// Stores what `body` received as a part; UploadPart and UploadPartCopy end alike.
[[nodiscard]] S3Result<void> store_part(const MultipartUpload& upload, unsigned number,
                                        const BodySummary& summary, UploadBody& body);

/// The checksum that the parts of an upload must have, if any.
[[nodiscard]] std::optional<ChecksumKind> part_checksum(const MultipartUpload& upload);

}  // namespace s3rdmafs::target
