// SPDX-License-Identifier: Apache-2.0
#include "target/s3/operation.h"

#include <algorithm>
#include <array>

#include "s3rdmafs/base/enum_names.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

/// Subresources that S3 has and this server has not. Taken for plain objects or listings they would
/// do harm (PUT ?retention would overwrite the object), so each is refused by name.
constexpr std::array<std::string_view, 27> kRefusedSubresources{"accelerate",
                                                                "analytics",
                                                                "annotation",
                                                                "attributes",
                                                                "cors",
                                                                "encryption",
                                                                "intelligent-tiering",
                                                                "inventory",
                                                                "legal-hold",
                                                                "lifecycle",
                                                                "logging",
                                                                "metrics",
                                                                "notification",
                                                                "object-lock",
                                                                "ownershipControls",
                                                                "policy",
                                                                "policyStatus",
                                                                "publicAccessBlock",
                                                                "replication",
                                                                "requestPayment",
                                                                "restore",
                                                                "retention",
                                                                "select",
                                                                "session",
                                                                "torrent",
                                                                "versions",
                                                                "website"};

S3Result<Operation> service_operation(const Request& request) {
  if (request.method == "GET") return Operation::kListBuckets;
  return refuse(kMethodNotAllowed);
}

S3Result<Operation> bucket_operation(const Request& request) {
  const auto has = [&](std::string_view name) { return request.has_parameter(name); };
  if (request.method == "GET") {
    if (has("location")) return Operation::kGetBucketLocation;
    if (has("tagging")) return refuse(kNotImplemented);
    if (has("versioning")) return Operation::kGetBucketVersioning;
    if (has("acl")) return Operation::kGetBucketAcl;
    if (has("uploads")) return Operation::kListMultipartUploads;
    return request.parameter("list-type") == "2" ? Operation::kListObjectsV2
                                                 : Operation::kListObjects;
  }
  if (has("acl") || has("tagging") || has("versioning")) return refuse(kNotImplemented);
  if (request.method == "HEAD") return Operation::kHeadBucket;
  if (request.method == "PUT") return Operation::kCreateBucket;
  if (request.method == "DELETE") return Operation::kDeleteBucket;
  if (request.method == "POST" && has("delete")) return Operation::kDeleteObjects;
  return refuse(kMethodNotAllowed);
}

S3Result<Operation> object_operation(const Request& request, Renames renames) {
  const auto has = [&](std::string_view name) { return request.has_parameter(name); };
  const bool is_copy = request.header("x-amz-copy-source").has_value();
  if (request.method == "GET") {
    if (has("acl")) return Operation::kGetObjectAcl;
    if (has("tagging")) return Operation::kGetObjectTagging;
    return has("uploadId") ? Operation::kListParts : Operation::kGetObject;
  }
  if (has("acl") || has("tagging")) return refuse(kNotImplemented);
  if (request.method == "HEAD") return Operation::kHeadObject;
  if (request.method == "PUT") {
    if (has("renameObject") && renames == Renames::kServed) return Operation::kRenameObject;
    if (has("uploadId") || has("partNumber")) {
      return is_copy ? Operation::kUploadPartCopy : Operation::kUploadPart;
    }
    return is_copy ? Operation::kCopyObject : Operation::kPutObject;
  }
  if (request.method == "POST") {
    if (has("uploads")) return Operation::kCreateMultipartUpload;
    if (has("uploadId")) return Operation::kCompleteMultipartUpload;
  }
  if (request.method == "DELETE") {
    return has("uploadId") ? Operation::kAbortMultipartUpload : Operation::kDeleteObject;
  }
  return refuse(kMethodNotAllowed);
}

constexpr EnumNames<Operation::kAbortMultipartUpload> kOperationNames(
    {{Operation::kListBuckets, "ListBuckets"},
     {Operation::kCreateBucket, "CreateBucket"},
     {Operation::kHeadBucket, "HeadBucket"},
     {Operation::kDeleteBucket, "DeleteBucket"},
     {Operation::kGetBucketLocation, "GetBucketLocation"},
     {Operation::kGetBucketVersioning, "GetBucketVersioning"},
     {Operation::kGetBucketAcl, "GetBucketAcl"},
     {Operation::kListObjects, "ListObjects"},
     {Operation::kListObjectsV2, "ListObjectsV2"},
     {Operation::kListMultipartUploads, "ListMultipartUploads"},
     {Operation::kDeleteObjects, "DeleteObjects"},
     {Operation::kGetObject, "GetObject"},
     {Operation::kHeadObject, "HeadObject"},
     {Operation::kGetObjectAcl, "GetObjectAcl"},
     {Operation::kGetObjectTagging, "GetObjectTagging"},
     {Operation::kPutObject, "PutObject"},
     {Operation::kCopyObject, "CopyObject"},
     {Operation::kRenameObject, "RenameObject"},
     {Operation::kDeleteObject, "DeleteObject"},
     {Operation::kCreateMultipartUpload, "CreateMultipartUpload"},
     {Operation::kUploadPart, "UploadPart"},
     {Operation::kUploadPartCopy, "UploadPartCopy"},
     {Operation::kListParts, "ListParts"},
     {Operation::kCompleteMultipartUpload, "CompleteMultipartUpload"},
     {Operation::kAbortMultipartUpload, "AbortMultipartUpload"}});

}  // namespace

std::string_view operation_name(Operation operation) { return kOperationNames[operation]; }

bool is_read(Operation operation) {
  switch (operation) {
    case Operation::kHeadBucket:
    case Operation::kGetBucketLocation:
    case Operation::kListObjects:
    case Operation::kListObjectsV2:
    case Operation::kGetObject:
    case Operation::kHeadObject:
      return true;
    default:
      return false;
  }
}

Address parse_address(const Request& request, const std::string& domain) {
  const std::string_view path = std::string_view(request.path).substr(1);
  std::string host = request.header_or("host", "");
  host = host.substr(0, host.rfind(':'));
  if (!domain.empty() && host.size() > domain.size() + 1 && host.ends_with("." + domain)) {
    return {.bucket = host.substr(0, host.size() - domain.size() - 1), .key = std::string(path)};
  }
  const std::size_t slash = std::min(path.find('/'), path.size());
  return {.bucket = std::string(path.substr(0, slash)),
          .key = std::string(path.substr(std::min(slash + 1, path.size())))};
}

S3Result<Operation> choose_operation(const Request& request, const Address& address,
                                     Renames renames) {
  if (renames == Renames::kRefused && request.has_parameter("renameObject")) {
    return refuse(kNotImplemented, "This server does not implement ?renameObject.");
  }
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(kRefusedSubresources, name) != kRefusedSubresources.end()) {
      return refuse(kNotImplemented, fmt::format("This server does not implement ?{}.", name));
    }
  }
  if (request.parameter("versionId").value_or("null") != "null") {
    return refuse(kNotImplemented, "This server keeps one version of an object.");
  }
  if (address.bucket.empty()) return service_operation(request);
  return address.key.empty() ? bucket_operation(request) : object_operation(request, renames);
}

}  // namespace s3rdmafs::target
