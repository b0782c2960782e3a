// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/exchanges/conditional/condition_guard.h"
#include "s3/exchanges/exchange.h"

namespace s3rdmafs::s3 {

/// DeleteObject of one version alone. Succeeds if the key has no object.
class VersionRemoval final : public Exchange {
 public:
  VersionRemoval(std::string key, std::string etag, Done<void> done);

  void next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) override;
  Next on_outcome(HttpOutcome outcome) override;
  void fail(Error error) override;
  void finish() override;

 private:
  [[nodiscard]] Result<HttpRequest> build();
  [[nodiscard]] Next on_answer(const HttpResponse& response);
  [[nodiscard]] Next on_head(const HttpResponse& response);

  const std::string key_;
  ConditionGuard guard_;
  Endpoint* endpoint_ = nullptr;  // of the attempt under way
  Done<void> done_;
  bool is_checking_ = false;  // by HEAD, after HTTP 412
  Result<void> result_;
};

}  // namespace s3rdmafs::s3
