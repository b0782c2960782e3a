// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon::doctor {

/// The file of a report, whole or not at all: written beside its place under a name of its own,
/// for its owner alone, and put there when it is complete. What was there goes only then, and only
/// where it is a regular file: links are not followed.
class ReportFile {
 public:
  /// Looks at once whether it can be written. Errors: kSystem, kInvalidArgument, with the path.
  [[nodiscard]] static Result<ReportFile> create(const std::string& path);
  ReportFile(ReportFile&& other) noexcept;
  ReportFile& operator=(ReportFile&&) = delete;
  /// What was not committed goes.
  ~ReportFile();

  /// Errors: kSystem, with the path; what was there stays.
  [[nodiscard]] Result<void> commit(std::string_view text);

 private:
  ReportFile(std::string path, std::string draft, UniqueFd fd)
      : path_(std::move(path)), draft_(std::move(draft)), fd_(std::move(fd)) {}

  std::string path_;
  std::string draft_;  // empty: nothing to remove
  UniqueFd fd_;
};

}  // namespace s3rdmafs::daemon::doctor
