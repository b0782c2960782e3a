// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "s3rdmafs/base/enum_names.h"

namespace s3rdmafs::s3 {

struct RequestSpec;

/// An operation of the S3 API.
enum class Operation {
  kHead,
  kList,
  kGet,
  kPut,
  kCreateUpload,
  kUploadPart,
  kCompleteUpload,
  kAbortUpload,
  kRemove,
  kCopy,
  kPartCopy,
  kListUploads,
  kListParts,
  kRename,
};

/// As labels of metrics.
inline constexpr EnumNames<Operation::kRename> kOperationNames(
    {{Operation::kHead, "head"},
     {Operation::kList, "list"},
     {Operation::kGet, "get"},
     {Operation::kPut, "put"},
     {Operation::kCreateUpload, "create_upload"},
     {Operation::kUploadPart, "upload_part"},
     {Operation::kCompleteUpload, "complete_upload"},
     {Operation::kAbortUpload, "abort_upload"},
     {Operation::kRemove, "delete"},
     {Operation::kCopy, "copy"},
     {Operation::kPartCopy, "upload_part_copy"},
     {Operation::kListUploads, "list_uploads"},
     {Operation::kListParts, "list_parts"},
     {Operation::kRename, "rename"}});

/// Whether requests of it move an object's bytes to or from this mount.
[[nodiscard]] constexpr bool moves_bytes(Operation operation) noexcept {
  return operation == Operation::kGet || operation == Operation::kPut ||
         operation == Operation::kUploadPart;
}

/// The operation that a request is of, by the rules of the S3 API: method, key, query and
/// x-amz-copy-source decide.
[[nodiscard]] Operation operation_of(const RequestSpec& spec) noexcept;

}  // namespace s3rdmafs::s3
