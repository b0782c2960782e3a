// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "config/mount_config.h"
#include "rdma/reply_rule.h"
#include "s3/capability.h"
#include "s3/error_mapping.h"
#include "s3/object_store.h"
#include "s3/request.h"
#include "s3/retry_runner.h"
#include "s3/store_metrics.h"

namespace s3rdmafs::s3 {

/// One ranged GET into a window, by RDMA token where that is possible and by HTTP elsewhere.
/// Fallback is decided here, per request; what a server's answer means is rdma/reply_rule.
class GetExchange final : public Exchange {
 public:
  /// What all GETs of a store share; outlives them.
  struct Shared {
    RequestBuilder& requests;
    Capability& capability;
    StoreMetrics& metrics;
    config::MountConfig::Rdma rdma;
  };

  GetExchange(Shared& shared, GetRequest get, GetDone done);

  void next_request(Deadline deadline, Done<HttpRequest> ready) override;
  Next on_outcome(HttpOutcome outcome) override;
  void fail(Error error) override;
  void finish() override;

 private:
  [[nodiscard]] Result<HttpRequest> build();
  [[nodiscard]] Result<bool> wants_token();
  [[nodiscard]] Result<void> without_rdma(std::string_view reason, Error why);
  [[nodiscard]] Next on_no_answer(HttpFailure failure, rdma::Token& token);
  [[nodiscard]] Next on_http_answer(const HttpResponse& response);
  [[nodiscard]] Next on_rdma_answer(const HttpResponse& response, rdma::Token& token);
  [[nodiscard]] Next fall_back(const rdma::Decision& decision, const HttpResponse& response);
  [[nodiscard]] Next take_body(const HttpResponse& response);
  [[nodiscard]] Next finish_with(Path path);
  [[nodiscard]] Next s3_error(const HttpResponse& response) const;
  [[nodiscard]] std::optional<Error> check_version_and_range(const HttpResponse& response) const;
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] bool is_required() const;

  Shared& shared_;
  const GetRequest get_;
  GetDone done_;
  std::optional<rdma::Token> token_;  // of the attempt under way
  bool may_use_token_ = true;         // this GET may still try RDMA
  std::expected<Path, GetFailure> result_;
};

}  // namespace s3rdmafs::s3
