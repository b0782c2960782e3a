// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::target {

/// The access keys a server takes, each with its secret. Read-only once built.
class Keys {
 public:
  /// Adds "ACCESS:SECRET". Errors: kInvalidArgument for another form; the secret is not repeated.
  [[nodiscard]] Result<void> add(std::string_view access_and_secret);
  /// Adds every line of a file; empty lines and those that begin with "#" are skipped.
  [[nodiscard]] Result<void> add_file(const std::string& path);

  [[nodiscard]] const std::string* secret_of(const std::string& access_key) const;
  [[nodiscard]] bool empty() const { return secrets_.empty(); }

 private:
  std::map<std::string, std::string> secrets_;
};

}  // namespace s3rdmafs::target
