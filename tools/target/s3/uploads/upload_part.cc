// SPDX-License-Identifier: Apache-2.0
#include "target/s3/uploads/upload_part.h"

#include "target/s3/rdma.h"
#include "target/s3/uploads/multipart.h"
#include "target/s3/xml.h"

namespace s3rdmafs::target {
namespace {

class UploadPart final : public Upload {
 public:
  UploadPart(const Services& services, const Call& call, MultipartUpload upload, unsigned number,
             UploadBody body, std::optional<RdmaProposal> proposal)
      : services_(services),
        call_(call),
        upload_(std::move(upload)),
        number_(number),
        body_(std::move(body)),
        proposal_(std::move(proposal)) {}

  S3Result<void> receive(std::span<const std::byte> bytes) override {
    services_.traffic.http_received_bytes.add(bytes.size());
    return body_.receive(bytes);
  }

  S3Result<Response> finish(const NameValues& trailers) override {
    if (proposal_) {
      auto declined = proposal_->receive(body_);
      if (!declined) return pass_on(declined);
      if (*declined) return std::move(**declined);
    }
    auto summary = body_.finish(call_.request, trailers);
    if (!summary) return pass_on(summary);
    if (auto stored = store_part(upload_, number_, *summary, body_); !stored) {
      return pass_on(stored);
    }
    if (!services_.behaviour.compares_checksums) summary->checksums.clear();
    Response response;
    response.set("ETag", quoted_etag(summary->md5_hex));
    for (const auto& [name, value] : summary->checksums) response.set(name, value);
    if (proposal_) proposal_->mark_stored(response, summary->size_bytes);
    return response;
  }

 private:
  const Services& services_;
  const Call& call_;
  MultipartUpload upload_;
  unsigned number_;
  UploadBody body_;
  std::optional<RdmaProposal> proposal_;
};

}  // namespace

std::optional<ChecksumKind> part_checksum(const MultipartUpload& upload) {
  if (!upload.plan().checksum) return std::nullopt;
  return upload.plan().checksum->kind;
}

S3Result<void> store_part(const MultipartUpload& upload, unsigned number,
                          const BodySummary& summary, UploadBody& body) {
  StoredPart part;
  part.number = number;
  part.md5_hex = summary.md5_hex;
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
  if (*proposal) {
    if (auto good = check_part_checksum(services, call, part_checksum(*upload)); !good) {
      return pass_on(good);
    }
  }
  auto body = UploadBody::start(services, call, part_checksum(*upload));
  if (!body) return pass_on(body);
  return std::make_unique<UploadPart>(services, call, std::move(*upload), *number, std::move(*body),
                                      std::move(*proposal));
}

}  // namespace s3rdmafs::target
