// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::csi {

/// A program to run. Plain value.
struct Command {
  std::vector<std::string> words;        ///< the first is looked for in PATH
  std::vector<std::string> environment;  ///< "NAME=VALUE"
  std::string output;  ///< file for what it says, made with mode 0600; emptied before
};

/// Runs a program to its end, and kills it at the deadline. It gets none of this process's
/// descriptors. Processes that it has started go on. Returns its exit status, or 128 + the signal.
/// Errors: kTimedOut, kNotFound (no such program), kSystem.
[[nodiscard]] Result<int> run_command(const Command& command, const Clock& clock,
                                      Deadline deadline);

/// Waits for a process to end, by a descriptor of pidfd_open(2). False if the deadline passed.
[[nodiscard]] bool wait_for_process(const UniqueFd& process, const Clock& clock, Deadline deadline);

/// The numbers of a file system, of statfs(2).
struct FileSystemNumbers {
  std::uint64_t bytes_total = 0, bytes_free = 0, bytes_available = 0;
  std::uint64_t files_total = 0, files_free = 0;
};

/// Asks a file system whose daemon may hang: in a process of its own, which can be killed. Errors:
/// kTimedOut (no answer), kStale (its daemon has died), kNotFound, kSystem.
[[nodiscard]] Result<FileSystemNumbers> ask_file_system(const std::string& path, const Clock& clock,
                                                        Deadline deadline);

}  // namespace s3rdmafs::csi
