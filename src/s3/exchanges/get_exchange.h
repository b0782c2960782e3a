// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "rdma/reply_rule.h"
#include "s3/exchanges/exchange.h"
#include "s3/exchanges/token_policy.h"
#include "s3/object_store.h"

namespace s3rdmafs::s3 {

/// One ranged GET into a window, by RDMA token if possible, otherwise by HTTP.
class GetExchange final : public Exchange {
 public:
  GetExchange(TransferShared& shared, GetRequest get, GetDone done);

  [[nodiscard]] std::uint64_t transfer_bytes() const override { return get_.window.length; }
  void next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) override;
  Next on_outcome(HttpOutcome outcome) override;
  void fail(Error error) override;
  void finish() override;

 private:
  [[nodiscard]] Result<HttpRequest> build();
  void allow_hedge(HttpRequest& request);
  [[nodiscard]] Next on_no_answer(HttpFailure failure);
  [[nodiscard]] Next on_http_answer(const HttpResponse& response);
  [[nodiscard]] Next on_rdma_answer(const HttpResponse& response);
  [[nodiscard]] Next fall_back(const rdma::Decision& decision, const HttpResponse& response);
  [[nodiscard]] Next take_body(const HttpResponse& response);
  [[nodiscard]] Next verify(const HttpResponse& response);
  [[nodiscard]] Next compare();
  [[nodiscard]] Next on_wrong_bytes();
  [[nodiscard]] Next finish_with(Path path);
  [[nodiscard]] Next s3_error(const HttpResponse& response) const;
  [[nodiscard]] std::optional<Error> check_version_and_range(const HttpResponse& response) const;

  TransferShared& shared_;
  const GetRequest get_;
  Endpoint* endpoint_ = nullptr;  // of the attempt under way
  TokenPolicy policy_;
  bool has_token_ = false;   // the attempt under way
  bool was_hedged_ = false;  // an earlier attempt: once is enough
  std::chrono::steady_clock::time_point sent_at_;
  /// Memory for the same bytes by HTTP, which are compared with those that came by RDMA. Empty:
  /// there is no comparison.
  std::vector<std::byte> comparison_;
  GetDone done_;
  std::expected<Path, GetFailure> result_;
};

}  // namespace s3rdmafs::s3
