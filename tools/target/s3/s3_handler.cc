// SPDX-License-Identifier: Apache-2.0
#include "target/s3/s3_handler.h"

#include <algorithm>
#include <array>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "target/auth/payload_decoder.h"
#include "target/s3/control.h"
#include "target/s3/operation.h"
#include "target/s3/operations.h"
#include "target/s3/uploads/upload.h"
#include "target/s3/xml.h"

namespace s3rdmafs::target {
namespace {

// CompleteMultipartUpload of 10,000 parts with checksums is the longest document, about 3 MB.
constexpr std::size_t kDocumentMaxBytes = 8 * kMiB;

bool takes_document(Operation operation) {
  return operation == Operation::kCreateBucket || operation == Operation::kDeleteObjects ||
         operation == Operation::kCompleteMultipartUpload;
}

S3Result<std::unique_ptr<Upload>> start_upload(Operation operation, const Services& services,
                                               const Call& call) {
  if (operation == Operation::kPutObject) return start_put_object(services, call);
  if (operation == Operation::kUploadPart) return start_upload_part(services, call);
  return nullptr;
}

struct ServedOperation {
  Operation operation;
  Serve* serve;
};

// All but the uploads, see start_upload().
constexpr auto kServedOperations = std::to_array<ServedOperation>(
    {{Operation::kListBuckets, list_buckets},
     {Operation::kCreateBucket, create_bucket},
     {Operation::kHeadBucket, head_bucket},
     {Operation::kDeleteBucket, delete_bucket},
     {Operation::kGetBucketLocation, get_bucket_location},
     {Operation::kGetBucketVersioning, get_bucket_versioning},
     {Operation::kGetBucketAcl, get_acl},
     {Operation::kGetObjectAcl, get_acl},
     {Operation::kGetObjectTagging, get_object_tagging},
     {Operation::kListObjects, list_objects},
     {Operation::kListObjectsV2, list_objects_v2},
     {Operation::kGetObject, get_object},
     {Operation::kHeadObject, head_object},
     {Operation::kDeleteObject, delete_object},
     {Operation::kDeleteObjects, delete_objects},
     {Operation::kCopyObject, copy_object},
     {Operation::kUploadPartCopy, upload_part_copy},
     {Operation::kRenameObject, rename_object},
     {Operation::kCreateMultipartUpload, create_multipart_upload},
     {Operation::kListMultipartUploads, list_multipart_uploads},
     {Operation::kListParts, list_parts},
     {Operation::kCompleteMultipartUpload, complete_multipart_upload},
     {Operation::kAbortMultipartUpload, abort_multipart_upload}});

constexpr bool is_upload(Operation operation) {
  return operation == Operation::kPutObject || operation == Operation::kUploadPart;
}

constexpr bool serves_each_operation() {
  for (int i = 0; i <= static_cast<int>(Operation::kAbortMultipartUpload); ++i) {
    const auto operation = static_cast<Operation>(i);
    const auto rows = std::ranges::count(kServedOperations, operation, &ServedOperation::operation);
    if (rows != (is_upload(operation) ? 0 : 1)) return false;
  }
  return true;
}
static_assert(serves_each_operation(), "each operation but the uploads has one row");

S3Result<Response> run(Operation operation, const Services& services, const Call& call) {
  const auto* found = std::ranges::find(kServedOperations, operation, &ServedOperation::operation);
  if (found == kServedOperations.end()) return refuse(kMethodNotAllowed);
  return found->serve(services, call);
}

class S3Exchange final : public Exchange {
 public:
  S3Exchange(const Services& services, Request request) : services_(services) {
    call_.request = std::move(request);
    if (auto started = start(); !started) error_ = std::move(started.error());
  }

  [[nodiscard]] bool is_decided() const override { return error_.has_value(); }

  void receive(std::span<const std::byte> bytes) override {
    if (error_ || !decoder_) return;
    const auto sink = [this](std::span<const std::byte> piece) { return take(piece); };
    if (auto taken = decoder_->receive(bytes, sink); !taken) {
      error_ = std::move(taken.error());
      upload_.reset();  // and with it the bytes written so far
    }
  }

  Response finish() override {
    if (services_.faults != nullptr && services_.delay.count() > 0) {
      services_.faults->wait(services_.delay);
    }
    auto answer = error_ ? S3Result<Response>(std::unexpected(*error_)) : respond();
    Response response =
        answer ? std::move(*answer) : error_response(answer.error(), call_.request.path);
    response.set("Server", "s3rdma-target");
    const std::string_view name = operation_ ? operation_name(*operation_) : "Unknown";
    services_.traffic.count_request(name, response.status);
    log::debug("{} {} {}: {}{}", name, call_.request.method, call_.request.encoded_path,
               response.status, answer ? "" : fmt::format(" {}", answer.error().message));
    return response;
  }

 private:
  S3Result<void> start() {
    Address address = parse_address(call_.request, services_.domain);
    call_.bucket = std::move(address.bucket);
    call_.key = std::move(address.key);
    auto caller = verify(call_.request, {.keys = &services_.keys, .region = services_.region},
                         services_.clock.wall_now());
    if (!caller) return pass_on(caller);
    call_.caller = std::move(*caller);
    auto operation = choose_operation(call_.request, {.bucket = call_.bucket, .key = call_.key},
                                      services_.behaviour.renames);
    if (!operation) return pass_on(operation);
    operation_ = *operation;
    if (auto good = check_terms(services_.terms, call_.request); !good) return pass_on(good);
    if (call_.caller.is_anonymous && !(services_.anonymous_read && is_read(*operation_))) {
      return refuse(kAccessDenied);
    }
    auto decoder = make_payload_decoder(call_.request, call_.caller);
    if (!decoder) return pass_on(decoder);
    decoder_ = std::move(*decoder);
    if (is_upload(*operation_) && !call_.request.header("content-length") &&
        !call_.request.header("x-amz-decoded-content-length")) {
      return refuse(kMissingContentLength);
    }
    auto upload = start_upload(*operation_, services_, call_);
    if (!upload) return pass_on(upload);
    upload_ = std::move(*upload);
    return {};
  }

  S3Result<void> take(std::span<const std::byte> bytes) {
    if (upload_) return upload_->receive(bytes);
    if (!takes_document(*operation_)) return {};
    if (bytes.size() > kDocumentMaxBytes - call_.document.size()) return refuse(kEntityTooLarge);
    call_.document.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }

  S3Result<Response> respond() {
    if (auto good = decoder_->finish(); !good) return pass_on(good);
    if (upload_) return upload_->finish(decoder_->trailers());
    return run(*operation_, services_, call_);
  }

  const Services& services_;
  Call call_;
  std::optional<Operation> operation_;
  std::unique_ptr<PayloadDecoder> decoder_;
  std::unique_ptr<Upload> upload_;
  std::optional<S3Error> error_;
};

}  // namespace

std::unique_ptr<Exchange> S3Handler::begin(Request request) {
  if (auto control = begin_control(services_, request)) return control;
  return std::make_unique<S3Exchange>(services_, std::move(request));
}

}  // namespace s3rdmafs::target
