// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::target {

/// The client tokens of renames that were made, so that a repetition succeeds and does nothing.
/// Thread-safe.
class RenameTokens {
 public:
  enum class Known {
    kNew,
    kSameRequest,  ///< it was made
    kOtherRequest,
  };

  /// @param request  all that the client said, but the token
  [[nodiscard]] Known find(const std::string& token, const std::string& request) const;
  /// This request took effect.
  void made(const std::string& token, const std::string& request);

 private:
  static constexpr std::size_t kTokensMax = 4096;  // far more than clients repeat at a time

  mutable Mutex mutex_;  // leaf
  std::unordered_map<std::string, std::string> requests_ GUARDED_BY(mutex_);
  std::deque<std::string> oldest_first_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::target
