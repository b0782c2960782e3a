// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon::doctor {

/// The file of a report, which is written whole or not at all: as a draft next to its path,
/// readable by its owner alone, renamed when it is complete. Only then does it replace an older
/// file, which must be a regular one: links are not followed.
class ReportFile {
 public:
  /// Creates the draft, so that a path that cannot be written fails at once.
  /// Errors: kSystem; kInvalidArgument where the path is not a regular file. The detail has the
  /// path.
  [[nodiscard]] static Result<ReportFile> create(const std::string& path);
  ReportFile(ReportFile&& other) noexcept;
  ReportFile& operator=(ReportFile&&) = delete;
  /// Removes a draft that was not committed.
  ~ReportFile();

  /// Writes the text and puts the file in place. At most once.
  /// Errors: those of create(); an older file then stays.
  [[nodiscard]] Result<void> commit(std::string_view text);

 private:
  ReportFile(std::string path, std::string draft, UniqueFd fd)
      : path_(std::move(path)), draft_(std::move(draft)), fd_(std::move(fd)) {}

  std::string path_;
  std::string draft_;  // empty once committed or moved from
  UniqueFd fd_;
};

}  // namespace s3rdmafs::daemon::doctor
