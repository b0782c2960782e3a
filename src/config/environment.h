// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace s3rdmafs::config {

/// The facts of the mounting process besides its mount file, as a value, so that tests can
/// make one up.
struct Environment {
  std::map<std::string, std::string> variables{};
  std::filesystem::path home{};  ///< empty: none known
  uid_t uid = 0;                 ///< the real one: the user who asked for the mount
  gid_t gid = 0;
  bool is_root = false;  ///< effective user id 0

  /// The variable's value; none where it is unset or empty, as an empty one says nothing.
  [[nodiscard]] std::optional<std::string> variable(const std::string& name) const;

  /// Of the running process. Call before threads start: it reads environ.
  [[nodiscard]] static Environment of_this_process();
};

}  // namespace s3rdmafs::config
