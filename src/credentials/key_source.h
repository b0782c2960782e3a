// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "s3/wire/credentials.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::credentials {

/// Keys, and until when a server takes them.
struct FetchedKeys {
  s3::Credentials keys;
  /// By the time of day; nothing: they do not end.
  std::optional<std::chrono::system_clock::time_point> end = {};

  friend bool operator==(const FetchedKeys&, const FetchedKeys&) = default;
};

/// One place to get keys from. Used by one thread.
class KeySource {
 public:
  virtual ~KeySource() = default;
  /// Gets keys that are good now. Blocks: 60 seconds at most for a program, 20 for each request to
  /// a service, of which a chain of roles sends several. Returns soon after `stop`. Errors:
  /// kAccessDenied (refused), kUnreachable, kTimedOut, kProtocol (no such answer), kConfig (a file
  /// or a program is wrong), kCancelled (by `stop`).
  [[nodiscard]] virtual Result<FetchedKeys> fetch(const std::stop_token& stop) = 0;
  /// Whether fetch() may give others than last time although those have not ended. Looks at local
  /// files at most.
  [[nodiscard]] virtual bool may_have_changed() { return false; }
};

}  // namespace s3rdmafs::credentials
