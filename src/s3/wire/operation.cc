// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/operation.h"

#include <algorithm>

#include "s3/wire/request.h"

namespace s3rdmafs::s3 {
namespace {

bool has_name(const NameValues& list, std::string_view wanted) {
  return std::ranges::any_of(list, [&](const auto& pair) { return pair.first == wanted; });
}

Operation read_of(const RequestSpec& spec) {
  if (has_name(spec.query, "uploads")) return Operation::kListUploads;
  if (has_name(spec.query, "uploadId")) return Operation::kListParts;
  return spec.key.empty() ? Operation::kList : Operation::kGet;
}

Operation put_of(const RequestSpec& spec) {
  if (has_name(spec.query, "renameObject")) return Operation::kRename;
  const bool is_copy = has_name(spec.headers, "x-amz-copy-source");
  if (has_name(spec.query, "partNumber")) {
    return is_copy ? Operation::kPartCopy : Operation::kUploadPart;
  }
  return is_copy ? Operation::kCopy : Operation::kPut;
}

}  // namespace

Operation operation_of(const RequestSpec& spec) noexcept {
  switch (spec.method) {
    case HttpMethod::kHead:
      return Operation::kHead;
    case HttpMethod::kGet:
      return read_of(spec);
    case HttpMethod::kPut:
      return put_of(spec);
    case HttpMethod::kPost:
      return has_name(spec.query, "uploads") ? Operation::kCreateUpload
                                             : Operation::kCompleteUpload;
    case HttpMethod::kDelete:
      break;
  }
  return has_name(spec.query, "uploadId") ? Operation::kAbortUpload : Operation::kRemove;
}

}  // namespace s3rdmafs::s3
