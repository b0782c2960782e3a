// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/exchanges/exchange.h"

namespace s3rdmafs::s3 {

/// The key of a probe for an object that is to be stored as `key`: random, in the same folder, and
/// hidden from `ls`.
[[nodiscard]] std::string probe_key(const std::string& key);

/// An object that a probe may leave at its server, and its removal, as requests of the exchange
/// that probes. Used by one thread at a time.
class ProbeObject {
 public:
  ProbeObject() = default;
  /// Logs an object that may be left.
  ~ProbeObject();
  ProbeObject(const ProbeObject&) = delete;
  ProbeObject& operator=(const ProbeObject&) = delete;

  /// A probe for `key` begins; the object has a key of its own from now on.
  const std::string& begin(const std::string& key) { return key_ = probe_key(key); }
  [[nodiscard]] const std::string& key() const { return key_; }

  /// The server has stored it, or may have.
  void on_stored() { may_be_there_ = true; }
  [[nodiscard]] bool may_be_there() const { return may_be_there_; }

  [[nodiscard]] Result<HttpRequest> build_removal(Endpoint& endpoint) const;
  /// The outcome of that request. An error that may pass is waited out once, at the cost of an
  /// attempt; after another one the log names the object.
  [[nodiscard]] Exchange::Next on_removed(const Endpoint& endpoint, const HttpOutcome& outcome);

 private:
  std::string key_;
  bool may_be_there_ = false;
  bool has_failed_to_remove_ = false;
};

}  // namespace s3rdmafs::s3
