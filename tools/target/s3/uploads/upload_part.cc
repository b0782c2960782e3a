// SPDX-License-Identifier: Apache-2.0
#include "target/s3/uploads/upload_part.h"

#include <charconv>

#include "target/s3/uploads/body_upload.h"
#include "target/s3/uploads/multipart.h"
#include "target/s3/xml.h"

namespace s3rdmafs::target {
namespace {

class UploadPart final : public BodyUpload {
 public:
  UploadPart(const Services& services, const Call& call, MultipartUpload upload, unsigned number,
             UploadBody body, std::optional<RdmaProposal> proposal)
      : BodyUpload(services, call, std::move(body), std::move(proposal)),
        upload_(std::move(upload)),
        number_(number) {}

 private:
  S3Result<Response> store(const BodySummary& summary) override {
    if (auto stored = store_part(upload_, number_, summary, body()); !stored) {
      return pass_on(stored);
    }
    Response response;
    response.set("ETag", quoted_etag(summary.etag));
    if (services().behaviour.compares_checksums) {
      for (const auto& [name, value] : summary.checksums) response.set(name, value);
    }
    return response;
  }

  MultipartUpload upload_;
  unsigned number_;
};

/// The length of the object's bytes in the body, as the request announces it.
std::optional<std::uint64_t> body_bytes(const Request& request) {
  const std::string text =
      request.header_or("x-amz-decoded-content-length", request.header_or("content-length", ""));
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  const bool is_good = error == std::errc() && end == text.data() + text.size();
  return is_good ? std::optional(bytes) : std::nullopt;
}

}  // namespace

std::optional<ChecksumKind> part_checksum(const MultipartUpload& upload) {
  if (!upload.plan().checksum) return std::nullopt;
  return upload.plan().checksum->kind;
}

S3Result<void> store_part(const MultipartUpload& upload, unsigned number,
                          const BodySummary& summary, UploadBody& body) {
  StoredPart part;
  part.number = number;
  part.etag = summary.etag;
  part.size_bytes = summary.size_bytes;
  if (const auto kind = part_checksum(upload)) {
    for (const auto& [name, value] : summary.checksums) {
      if (name == checksum_header(*kind)) part.checksum_hex = to_hex(from_base64(value).value());
    }
  }
  return upload.put_part(part, body.file());
}

S3Result<std::unique_ptr<Upload>> start_upload_part(const Services& services, const Call& call) {
  auto number = part_number(call.request);
  if (!number) return pass_on(number);
  auto proposal = RdmaProposal::read(services, call, FaultOperation::kPart);
  if (!proposal) return pass_on(proposal);
  auto upload = open_upload(services, call);
  if (!upload) return pass_on(upload);
  if (auto good = check_customer_key(call.request, "x-amz-", upload->plan().headers); !good) {
    return pass_on(good);
  }
  if (*proposal) {
    if (auto good = check_part_checksum(services, call, part_checksum(*upload)); !good) {
      return pass_on(good);
    }
  }
  const auto length_bytes = *proposal ? (*proposal)->expected_bytes() : body_bytes(call.request);
  auto file = upload->stage_part(services.store, *number, length_bytes);
  if (!file) return pass_on(file);
  UploadBody body = UploadBody::start(services, call, part_checksum(*upload), std::move(*file));
  return std::make_unique<UploadPart>(services, call, std::move(*upload), *number, std::move(body),
                                      std::move(*proposal));
}

}  // namespace s3rdmafs::target
