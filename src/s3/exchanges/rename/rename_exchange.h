// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "s3/exchanges/conditional/condition_guard.h"
#include "s3/exchanges/exchange.h"
#include "s3/exchanges/rename/rename_probe.h"
#include "s3/object_writer.h"

namespace s3rdmafs::s3 {

/// RenameObject: the server gives one version of an object another key, at once.
class RenameExchange final : public Exchange {
 public:
  RenameExchange(CopySource source, std::string key, Precondition when, Done<std::string> done);

  void next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) override;
  Next on_outcome(HttpOutcome outcome) override;
  void fail(Error error) override;
  void finish() override;

 private:
  /// The question of the attempt under way.
  enum class Step {
    kRename,
    kHasKey,        ///< HEAD of the new key: whether it has the version
    kHasSource,     ///< HEAD of the old key: whether it still has the version
    kRemoveStored,  ///< DELETE of what a server stored that took the request for a PUT
  };

  [[nodiscard]] Result<HttpRequest> build();
  [[nodiscard]] Next on_guarded(const HttpOutcome& outcome);
  [[nodiscard]] Next on_answer(const HttpResponse& response);
  [[nodiscard]] Next on_error(const HttpResponse& response, const S3Error& error);
  [[nodiscard]] Next on_key(const HttpResponse& response);
  [[nodiscard]] Next on_source(const HttpResponse& response);
  [[nodiscard]] Next on_source_of_same(bool is_gone);
  [[nodiscard]] Next on_removed(const HttpOutcome& outcome);
  [[nodiscard]] Next ask(Step step);
  [[nodiscard]] Next take_version(const HttpResponse& head);
  [[nodiscard]] Error unsupported() const;
  [[nodiscard]] Error answer_is_lost() const;
  [[nodiscard]] Error source_is_stale() const;
  [[nodiscard]] std::string what() const;

  const CopySource source_;
  const std::string key_;
  const std::string client_token_;  ///< of all attempts
  RenameProbe probe_;
  ConditionGuard guard_;
  Endpoint* endpoint_ = nullptr;  // of the attempt under way
  Done<std::string> done_;
  Step step_ = Step::kRename;
  bool may_have_taken_effect_ = false;  ///< an attempt that was never answered, or not clearly
  bool is_repetition_refused_ = false;
  bool is_source_there_ = false;  ///< as a HEAD said after the new key was found with its bytes
  std::string stored_etag_;       ///< of an answer that does not look like a rename's
  Result<std::string> etag_;
};

}  // namespace s3rdmafs::s3
