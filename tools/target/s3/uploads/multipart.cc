// SPDX-License-Identifier: Apache-2.0
#include "target/s3/uploads/multipart.h"

#include <charconv>

#include "s3rdmafs/base/log.h"
#include "target/s3/operations.h"
#include "target/s3/uploads/upload.h"
#include "target/s3/xml.h"
#include "target/store/key_path.h"

namespace s3rdmafs::target {
namespace {

S3Result<std::optional<UploadChecksum>> planned_checksum(const Request& request) {
  const auto algorithm = request.header("x-amz-checksum-algorithm");
  const std::string type = request.header_or("x-amz-checksum-type", "");
  if (!algorithm) return std::nullopt;
  const auto kind = checksum_of_algorithm(*algorithm);
  if (!kind) {
    return refuse(kInvalidRequest,
                  fmt::format("x-amz-checksum-algorithm \"{}\" is not known.", *algorithm));
  }
  const bool can_combine = *kind != ChecksumKind::kSha1 && *kind != ChecksumKind::kSha256;
  if (type == "FULL_OBJECT" && !can_combine) {
    return refuse(kInvalidRequest, "SHA checksums of multipart uploads can only be COMPOSITE.");
  }
  if (type == "COMPOSITE" && *kind == ChecksumKind::kCrc64Nvme) {
    return refuse(kInvalidRequest, "CRC64NVME of multipart uploads can only be FULL_OBJECT.");
  }
  // S3's default: of the whole object for CRC64NVME, composite for all others.
  const bool is_composite = type.empty() ? *kind != ChecksumKind::kCrc64Nvme : type == "COMPOSITE";
  return UploadChecksum{.kind = *kind, .is_composite = is_composite};
}

}  // namespace

S3Result<MultipartUpload> open_upload(const Services& services, const Call& call) {
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  return MultipartUpload::open(services.store, call.request.parameter("uploadId").value_or(""),
                               call.bucket, call.key);
}

S3Result<std::uint64_t> number_parameter(const Request& request, const char* name,
                                         std::uint64_t otherwise) {
  const std::string text = request.parameter(name).value_or("");
  if (text.empty()) return otherwise;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return refuse(kInvalidArgument, fmt::format("{} must be a number.", name));
  }
  return number;
}

S3Result<unsigned> part_number(const Request& request) {
  auto number = number_parameter(request, "partNumber", 0);
  if (!number || *number < 1 || *number > kPartNumberMax) {
    return refuse(kInvalidArgument,
                  "Part number must be an integer between 1 and 10000, inclusive");
  }
  return static_cast<unsigned>(*number);
}

std::string checksum_element(ChecksumKind kind) { return "Checksum" + checksum_algorithm(kind); }

S3Result<Response> create_multipart_upload(const Services& services, const Call& call) {
  if (auto good = check_new_key(call.key); !good) return pass_on(good);
  if (call.key.ends_with('/')) {
    return refuse(kInvalidArgument,
                  "This server keeps objects as files: a key that ends in \"/\" is a folder and "
                  "cannot have content.");
  }
  if (auto good = check_upload_headers(services, call.request); !good) return pass_on(good);
  auto checksum = planned_checksum(call.request);
  if (!checksum) return pass_on(checksum);
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  auto id = MultipartUpload::create(services.store, {.bucket = call.bucket,
                                                     .key = call.key,
                                                     .headers = kept_headers(call.request),
                                                     .checksum = *checksum});
  if (!id) return pass_on(id);
  pugi::xml_document document;
  pugi::xml_node root = start_xml(document, "InitiateMultipartUploadResult");
  add_text(root, "Bucket", call.bucket);
  add_text(root, "Key", call.key);
  add_text(root, "UploadId", *id);
  Response response = xml_response(document);
  if (*checksum) {
    response.set("x-amz-checksum-algorithm", checksum_algorithm((*checksum)->kind));
    response.set("x-amz-checksum-type", (*checksum)->is_composite ? "COMPOSITE" : "FULL_OBJECT");
  }
  return response;
}

S3Result<Response> abort_multipart_upload(const Services& services, const Call& call) {
  auto upload = open_upload(services, call);
  if (!upload) return pass_on(upload);
  if (auto claimed = upload->claim(); !claimed) return pass_on(claimed);
  upload->remove();
  return Response{.status = 204, .headers = {}, .body = {}};
}

}  // namespace s3rdmafs::target
