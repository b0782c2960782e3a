// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "s3/exchanges/conditional/condition_guard.h"
#include "s3/exchanges/exchange.h"
#include "s3/object_writer.h"

namespace s3rdmafs::s3 {

/// CopyObject: the server copies one version of an object to a key.
class CopyExchange final : public Exchange {
 public:
  CopyExchange(CopySource source, std::string key, CopyOptions options, Done<std::string> done);

  void next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) override;
  Next on_outcome(HttpOutcome outcome) override;
  void fail(Error error) override;
  void finish() override;

 private:
  [[nodiscard]] Result<HttpRequest> build();
  [[nodiscard]] Next on_guarded(const HttpOutcome& outcome);
  [[nodiscard]] Next on_answer(const HttpResponse& response);
  [[nodiscard]] Next on_error(const HttpResponse& response, const S3Error& error);
  [[nodiscard]] Next check_effect();
  [[nodiscard]] Next on_head(const HttpResponse& response);
  [[nodiscard]] bool is_ours(const HttpResponse& head) const;
  [[nodiscard]] Error source_is_stale() const;
  [[nodiscard]] std::string what() const;

  const CopySource source_;
  const std::string key_;
  const std::optional<UserMetadata> metadata_;
  const StoredHeaders headers_;
  ConditionGuard guard_;
  Endpoint* endpoint_ = nullptr;  // of the attempt under way
  Done<std::string> done_;
  bool may_have_taken_effect_ = false;  // an attempt that was never answered, or not clearly
  bool is_checking_effect_ = false;     // by HEAD of the key
  std::optional<Error> unclear_answer_;
  Result<std::string> etag_;
};

}  // namespace s3rdmafs::s3
