// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/path_glob.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

/// A list of patterns of files in a value of the mount file: "*.safetensors, index/*.bin". Each is
/// a PathGlob::of_mount_file(). Plain value.
class FileGlobs {
 public:
  FileGlobs() = default;
  /// @param list  a value that check_globs() returned
  explicit FileGlobs(std::string_view list);

  /// Whether a pattern stands for the file.
  /// @param path  relative to the mount point, no "/" in front
  [[nodiscard]] bool match(const std::string& path) const;

 private:
  std::vector<PathGlob> globs_;
};

/// The list without its spaces, for a Text of the schema. Errors: kInvalidArgument for an empty
/// pattern among others.
[[nodiscard]] Result<std::string> check_globs(std::string_view list);

}  // namespace s3rdmafs::config
