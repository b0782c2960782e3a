// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "target/behaviour/behaviour.h"
#include "target/http/message.h"
#include "target/s3_error.h"

namespace s3rdmafs::target {

/// The operations of S3's API that this server serves, by S3's names.
enum class Operation {
  kListBuckets,
  kCreateBucket,
  kHeadBucket,
  kDeleteBucket,
  kGetBucketLocation,
  kGetBucketVersioning,
  kGetBucketAcl,
  kListObjects,
  kListObjectsV2,
  kListMultipartUploads,
  kDeleteObjects,
  kGetObject,
  kHeadObject,
  kGetObjectAcl,
  kGetObjectTagging,
  kPutObject,
  kCopyObject,
  kRenameObject,
  kDeleteObject,
  kCreateMultipartUpload,
  kUploadPart,
  kUploadPartCopy,
  kListParts,
  kCompleteMultipartUpload,
  kAbortMultipartUpload,
};

/// The most entries that one page of any listing has (ListObjectsV2, "max-keys", and its like).
inline constexpr std::size_t kPageEntriesMax = 1000;

[[nodiscard]] std::string_view operation_name(Operation operation);

/// Whether --anonymous-read opens it to requests without a key.
[[nodiscard]] bool is_read(Operation operation);

/// Bucket and key of an address; both may be empty.
struct Address {
  std::string bucket;
  std::string key;
};
/// Path-style, or virtual-host where the Host header is a subdomain of `domain`.
[[nodiscard]] Address parse_address(const Request& request, const std::string& domain);

/// Which operation a request asks for. Errors: kMethodNotAllowed, kNotImplemented.
[[nodiscard]] S3Result<Operation> choose_operation(const Request& request, const Address& address,
                                                   Renames renames = Renames::kRefused);

}  // namespace s3rdmafs::target
