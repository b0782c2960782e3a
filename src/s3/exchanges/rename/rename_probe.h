// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "s3/exchanges/exchange.h"
#include "s3/exchanges/probe_object.h"

namespace s3rdmafs::s3 {

/// Finds out whether an endpoint has RenameObject, before an exchange renames anything there, and
/// leaves nothing behind. Used by one thread at a time; belongs to one exchange.
class RenameProbe {
 public:
  /// @param key  the new key of the rename: the probe is made beside it
  explicit RenameProbe(std::string key) : key_(std::move(key)) {}
  ~RenameProbe();
  RenameProbe(const RenameProbe&) = delete;
  RenameProbe& operator=(const RenameProbe&) = delete;

  /// A request of the probe's own that goes to `endpoint` first. Nothing: it is the exchange's
  /// turn.
  [[nodiscard]] std::optional<Result<HttpRequest>> request_before(Endpoint& endpoint);
  /// Whether the attempt under way is the probe's own.
  [[nodiscard]] bool is_asking() const { return step_ != Step::kNone; }
  [[nodiscard]] Exchange::Next on_outcome(const HttpOutcome& outcome);

 private:
  enum class Step { kNone, kProbe, kRemove };

  [[nodiscard]] Exchange::Next on_probed(const HttpResponse& response);

  const std::string key_;
  Endpoint* endpoint_ = nullptr;  // of the attempt under way, or the last one
  Step step_ = Step::kNone;
  ProbeObject object_;
  bool has_probed_ = false;  ///< once is enough: a probe that tells nothing would be repeated
};

}  // namespace s3rdmafs::s3
