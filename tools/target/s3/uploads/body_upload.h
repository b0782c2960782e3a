// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "target/s3/rdma.h"
#include "target/s3/uploads/upload.h"

namespace s3rdmafs::target {

/// An upload whose bytes come in the request or by RDMA; those that derive from it say where they
/// are stored. Borrows services and call.
class BodyUpload : public Upload {
 public:
  BodyUpload(const Services& services, const Call& call, UploadBody body,
             std::optional<RdmaProposal> proposal)
      : services_(services), call_(call), body_(std::move(body)), proposal_(std::move(proposal)) {}

  S3Result<void> receive(std::span<const std::byte> bytes) override {
    services_.traffic.http_received_bytes.add(bytes.size());
    return body_.receive(bytes);
  }

  S3Result<Response> finish(const NameValues& trailers) final {
    if (proposal_) {
      auto declined = proposal_->receive(body_);
      if (!declined) return pass_on(declined);
      if (*declined) return std::move(**declined);
    }
    const auto summary = body_.finish(call_.request, trailers);
    if (!summary) return std::unexpected(summary.error());
    auto response = store(*summary);
    if (response && proposal_) proposal_->mark_stored(*response, summary->size_bytes);
    return response;
  }

 protected:
  /// Stores the body, complete and checked, and makes the answer.
  [[nodiscard]] virtual S3Result<Response> store(const BodySummary& summary) = 0;

  [[nodiscard]] const Services& services() const { return services_; }
  [[nodiscard]] const Call& call() const { return call_; }
  [[nodiscard]] UploadBody& body() { return body_; }

 private:
  const Services& services_;
  const Call& call_;
  UploadBody body_;
  std::optional<RdmaProposal> proposal_;
};

}  // namespace s3rdmafs::target
