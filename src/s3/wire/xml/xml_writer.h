// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "s3/object_writer.h"

namespace s3rdmafs::s3 {

/// The body of CompleteMultipartUpload.
[[nodiscard]] std::string complete_upload_document(const std::vector<UploadedPart>& parts,
                                                   bool with_checksums);

}  // namespace s3rdmafs::s3
