// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "s3/endpoints/condition_support.h"
#include "s3/exchanges/exchange.h"
#include "s3/exchanges/probe_object.h"
#include "s3/object_writer.h"

namespace s3rdmafs::s3 {

/// Makes sure that an exchange changes its key only in the state required (Precondition): adds the
/// header where the endpoint takes it, and asks by HEAD just before where the endpoint is not known
/// to compare it. Used by one thread at a time; belongs to one exchange.
class ConditionGuard {
 public:
  ConditionGuard(std::string key, Precondition when, ConditionKind kind)
      : key_(std::move(key)), when_(std::move(when)), kind_(kind) {}
  ~ConditionGuard();
  ConditionGuard(const ConditionGuard&) = delete;
  ConditionGuard& operator=(const ConditionGuard&) = delete;

  [[nodiscard]] bool is_needed() const { return when_.kind != Precondition::Kind::kNone; }
  [[nodiscard]] const Precondition& when() const { return when_; }

  /// A request of the guard's own that goes to `endpoint` before the exchange's. Nothing: it is the
  /// exchange's turn.
  [[nodiscard]] std::optional<Result<HttpRequest>> request_before(Endpoint& endpoint);
  /// Whether the attempt under way is the guard's own.
  [[nodiscard]] bool is_asking() const { return step_ != Step::kNone; }
  /// Takes the outcome of such an attempt. Nothing: the key is in another state, and `outcome` is
  /// the answer to the HEAD that says so.
  [[nodiscard]] std::optional<Exchange::Next> on_outcome(const HttpOutcome& outcome);

  /// Adds the header to the exchange's own request, unless the endpoint refuses it.
  void add_header(NameValues& headers);

  /// Whether an answer to the exchange's own request says that the key is in another state.
  [[nodiscard]] bool is_conflict(int http_status, const S3Error& error);
  /// Whether the answer refuses the header as such: then the exchange sends again, and the guard
  /// asks first.
  [[nodiscard]] bool is_refusal(int http_status, const S3Error& error);
  /// The exchange's own request succeeded.
  void on_success();

  /// kExists or kStale. @param what  the operation: "PUT 'k', 4096 bytes"
  [[nodiscard]] Error conflict(std::string_view what) const;

 private:
  enum class Step { kNone, kProbe, kProbeAbsent, kRemoveProbe, kAsk };

  /// An empty PUT with one header.
  [[nodiscard]] Result<HttpRequest> build_probe(NameValues condition);
  [[nodiscard]] Exchange::Next on_probe_outcome(Step step, const HttpOutcome& outcome);
  [[nodiscard]] Exchange::Next on_probed(const HttpResponse& response);
  void on_absent_probed(const HttpResponse& response);
  [[nodiscard]] std::optional<Exchange::Next> on_asked(const HttpResponse& response);

  const std::string key_;
  const Precondition when_;
  const ConditionKind kind_;
  Endpoint* endpoint_ = nullptr;  // of the attempt under way, or the last one
  Step step_ = Step::kNone;
  ProbeObject probe_;
  bool has_probed_ = false;     ///< once is enough: a probe that tells nothing would be repeated
  bool probes_absent_ = false;  ///< If-None-Match comes next
  bool was_asked_ = false;      // since the exchange's last attempt
  bool sent_header_ = false;    // with the exchange's last attempt
  bool drops_header_ = false;   // this exchange was refused because of it
};

/// A HEAD of the key, with the object's checksum in the answer where the server has one.
[[nodiscard]] Result<HttpRequest> build_head(Endpoint& endpoint, std::string_view key);

}  // namespace s3rdmafs::s3
