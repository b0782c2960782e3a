// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/s3/sigv4.h"

namespace s3rdmafs::target {

/// One access key.
struct Key {
  std::string secret;
  std::string session_token = {};  ///< that a request must send; empty: none
  std::optional<std::chrono::system_clock::time_point> end = {};  ///< nothing: it has none
};

/// The access keys a server takes, each with its secret. Read-only once built.
class Keys {
 public:
  /// Adds "ACCESS:SECRET". Errors: kInvalidArgument for another form; the secret is not repeated.
  [[nodiscard]] Result<void> add(std::string_view access_and_secret);
  /// Adds every line of a file; empty lines and those that begin with "#" are skipped.
  [[nodiscard]] Result<void> add_file(const std::string& path);

  /// Takes temporary keys too, which are made with this secret as s3rdma-target(1) says.
  void take_temporary(std::string_view secret);

  [[nodiscard]] std::optional<Key> find(const std::string& access_key) const;
  [[nodiscard]] bool empty() const { return secrets_.empty() && !temporary_; }

 private:
  std::map<std::string, std::string> secrets_;
  std::optional<s3::SigningKey> temporary_;
};

}  // namespace s3rdmafs::target
