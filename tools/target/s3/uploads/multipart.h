// SPDX-License-Identifier: Apache-2.0
// Shared by the operations on multipart uploads.
#pragma once

#include <string>

#include "s3rdmafs/base/units.h"
#include "target/s3/services.h"
#include "target/store/uploads.h"

namespace s3rdmafs::target {

inline constexpr unsigned kPartNumberMax = 10'000;        // S3's
inline constexpr std::uint64_t kPartMinBytes = 5 * kMiB;  // S3's, for all but the last

/// The upload that ?uploadId names. Errors: kNoSuchUpload, kNoSuchBucket.
[[nodiscard]] S3Result<MultipartUpload> open_upload(const Services& services, const Call& call);

/// ?partNumber. Errors: kInvalidArgument.
[[nodiscard]] S3Result<unsigned> part_number(const Request& request);

/// A number parameter, or `otherwise` if it is not there. Errors: kInvalidArgument.
[[nodiscard]] S3Result<std::uint64_t> number_parameter(const Request& request, const char* name,
                                                       std::uint64_t otherwise);

/// "ChecksumCRC32C", as XML has it.
[[nodiscard]] std::string checksum_element(ChecksumKind kind);

}  // namespace s3rdmafs::target
