// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs {

/// A file that a command is asked for, which is written whole or not at all: as a draft next to its
/// path, readable by its owner alone, renamed when it is complete. Only then does it replace an
/// older file, which must be a regular one: links are not followed. Thread-bound.
class NewFile {
 public:
  /// Creates the draft, so that a path that cannot be written fails at once.
  /// @param kind  of file, for messages: "report"
  /// Errors: kSystem; kInvalidArgument where the path is not a regular file. The detail has kind
  /// and path.
  [[nodiscard]] static Result<NewFile> create(std::string_view kind, const std::string& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  /// Removes a draft that was not committed.
  ~NewFile();

  /// Writes the text and puts the file in place. At most once.
  /// Errors: those of create(); an older file then stays.
  [[nodiscard]] Result<void> commit(std::string_view text);

 private:
  NewFile(std::string name, std::string path, std::string draft, UniqueFd fd)
      : name_(std::move(name)),
        path_(std::move(path)),
        draft_(std::move(draft)),
        fd_(std::move(fd)) {}

  std::string name_;  // for messages: its kind and its path
  std::string path_;
  std::string draft_;  // empty once committed or moved from
  UniqueFd fd_;
};

}  // namespace s3rdmafs
