// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

/// Patterns of files, as a value of the mount file lists them: "*.safetensors, index/*.bin". Each
/// is as glob(7) has it. One without a "/" is for the name of a file in any directory, another one
/// for its whole path below the mount point; no "*" or "?" stands for a "/". Plain value.
class FileGlobs {
 public:
  FileGlobs() = default;
  /// @param list  as check_globs() gives it
  explicit FileGlobs(std::string_view list);

  /// @param path  below the mount point, no "/" in front
  [[nodiscard]] bool match(const std::string& path) const;

 private:
  std::vector<std::string> globs_;
};

/// The list without its spaces, for a Text of the schema. Errors: kInvalidArgument for an empty
/// pattern among others, and for a "/" in front.
[[nodiscard]] Result<std::string> check_globs(std::string_view list);

}  // namespace s3rdmafs::config
