// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "rdma/reply_rule.h"
#include "s3/exchanges/conditional/condition_guard.h"
#include "s3/exchanges/exchange.h"
#include "s3/exchanges/put/put_verifier.h"
#include "s3/exchanges/put/wrong_object.h"
#include "s3/exchanges/token_policy.h"
#include "s3/object_writer.h"
#include "s3/wire/s3_error.h"

namespace s3rdmafs::s3 {

/// One PutObject or UploadPart. If possible the server reads the bytes out of the window by RDMA
/// token; otherwise they go in the HTTP body.
class PutExchange final : public Exchange {
 public:
  struct Put {
    std::string key;
    std::string upload_id = {};  ///< empty: the whole object
    unsigned part_number = 0;
    PutBody body = {};
    PutOptions options = {};  ///< of a whole object
    /// It only tests whether the server reads by RDMA, and never goes by HTTP instead.
    bool is_probe = false;
    /// The only endpoint that it may go to; nullptr: any.
    const Endpoint* only_at = nullptr;
    /// It goes by HTTP, since there is no fabric, and that was counted.
    bool is_by_http = false;
  };

  /// The outcome, with what PutSequence needs besides.
  struct Ended {
    PutOutcome outcome;
    /// The object that a server has stored in place of ours and no later attempt has replaced.
    std::optional<WrongObject> wrong_object;
    /// With rdma.mode "require": the endpoint of the last attempt, if that was not sent because the
    /// endpoint is not known to read.
    Endpoint* unknown_endpoint = nullptr;
    bool was_sent_by_token = false;  ///< at least one attempt
  };
  using EndedDone = std::move_only_function<void(Ended)>;

  PutExchange(TransferShared& shared, Put put, EndedDone done);

  [[nodiscard]] std::uint64_t transfer_bytes() const override { return put_.body.window.length; }
  void next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) override;
  Next on_outcome(HttpOutcome outcome) override;
  void fail(Error error) override;
  void finish() override;

 private:
  [[nodiscard]] Result<HttpRequest> build();
  void add_condition(NameValues& headers);
  [[nodiscard]] Next on_guarded(HttpOutcome outcome);
  [[nodiscard]] Next on_answer(const HttpResponse& response);
  [[nodiscard]] Next on_rdma_answer(const HttpResponse& response, const S3Error& error);
  [[nodiscard]] Next fall_back(const rdma::Decision& decision, const HttpResponse& response,
                               const S3Error& error);
  void keep_in_doubt();
  [[nodiscard]] Next on_conflict();
  [[nodiscard]] Next on_head(const HttpResponse& response);
  [[nodiscard]] bool is_ours(const HttpResponse& head) const;
  [[nodiscard]] Next on_compared(HttpOutcome outcome);
  [[nodiscard]] Next on_wrong_bytes();
  [[nodiscard]] Next finish_with(const HttpResponse& response, Path path);
  [[nodiscard]] Next s3_error(const HttpResponse& response, const S3Error& error);

  TransferShared& shared_;
  const Put put_;
  Endpoint* endpoint_ = nullptr;  // of the attempt under way
  TokenPolicy policy_;
  ConditionGuard guard_;
  EndedDone done_;
  bool has_token_ = false;     // the attempt under way
  bool has_checksum_ = false;  // the attempt under way
  bool is_checking_owner_ = false;
  bool may_have_taken_effect_ = false;  // an attempt that was never answered, or not clearly
  Path unanswered_path_ = Path::kHttp;  // the path of that attempt
  std::optional<Error> require_failed_;
  std::optional<PutVerifier> verifier_;  // the object is stored and is being compared
  Endpoint* stored_at_ = nullptr;        // the endpoint that stored it
  Ended ended_;
};

}  // namespace s3rdmafs::s3
