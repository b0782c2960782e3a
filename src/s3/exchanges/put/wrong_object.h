// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/exchanges/retry_runner.h"
#include "s3/wire/http_message.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::s3 {

/// An object that a server has stored in place of ours: the server ignored the token, or read other
/// bytes.
struct WrongObject {
  std::string etag;  ///< as received, quotes included; empty: the answer had none

  /// Whether a HEAD answer is about this object, and not about one that replaced it. Without an
  /// ETag only an empty object is taken for it.
  [[nodiscard]] bool is_described_by(const HttpResponse& head) const;
};

/// Removes the wrong object from `key` unless another object has replaced it. Logs an error if that
/// fails, since a person has to remove it then. Has a deadline of its own. Borrows runner and clock
/// until `done`.
void remove_wrong_object(RetryRunner& runner, const Clock& clock, const std::string& key,
                         const WrongObject& wrong, Done<void> done);

}  // namespace s3rdmafs::s3
