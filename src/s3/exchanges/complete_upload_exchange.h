// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s3/exchanges/conditional/condition_guard.h"
#include "s3/exchanges/exchange.h"
#include "s3/exchanges/transfer_shared.h"
#include "s3/object_writer.h"
#include "s3/wire/s3_error.h"

namespace s3rdmafs::s3 {

/// CompleteMultipartUpload: the moment at which an object becomes visible.
class CompleteUploadExchange final : public Exchange {
 public:
  CompleteUploadExchange(TransferShared& shared, std::string key, std::string upload_id,
                         std::vector<UploadedPart> parts, Precondition when,
                         Done<std::string> done);

  void next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) override;
  Next on_outcome(HttpOutcome outcome) override;
  void fail(Error error) override;
  void finish() override;

 private:
  [[nodiscard]] Result<HttpRequest> build();
  [[nodiscard]] Next on_guarded(const HttpOutcome& outcome);
  [[nodiscard]] Next on_answer(const HttpResponse& response);
  [[nodiscard]] Next on_wrong_bytes(std::string etag);
  Next on_removal(HttpOutcome outcome);
  [[nodiscard]] Next on_conflict();
  [[nodiscard]] bool is_ours(const HttpResponse& head) const;
  [[nodiscard]] Next on_head(const HttpResponse& response);
  [[nodiscard]] Next on_error(const HttpResponse& response, const S3Error& error);

  TransferShared& shared_;
  Endpoint* endpoint_ = nullptr;  // of the attempt under way
  const std::string key_;
  const std::string upload_id_;
  const std::vector<UploadedPart> parts_;
  ConditionGuard guard_;
  Done<std::string> done_;
  std::string document_;  // the request's body
  bool has_checksums_ = false;
  bool may_have_taken_effect_ = false;  // an attempt that was never answered, or not clearly
  bool is_checking_effect_ = false;     // by HEAD, after that
  bool was_unclear_ = false;            // an answer of success named no ETag
  bool has_conflict_ = false;           // the HEAD follows a conflict, not a missing upload
  std::string wrong_etag_;              // of the object with wrong bytes that is being removed
  Result<std::string> etag_;
};

/// The CRC64NVME of the object that the parts make; nothing if that of a part is not known.
[[nodiscard]] std::optional<std::uint64_t> crc64nvme_of(const std::vector<UploadedPart>& parts);

/// Whether an object with this ETag may be made of these parts. If the parts' ETags are MD5 sums,
/// as those of AWS are, the object's is "sum-N" for N parts. Other ETags say nothing, so then true.
[[nodiscard]] bool may_be_made_of(std::string_view object_etag,
                                  const std::vector<UploadedPart>& parts);

}  // namespace s3rdmafs::s3
