// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::csi {

/// A living process, held by a descriptor of pidfd_open(2), so that a signal never meets another
/// one.
struct FoundProcess {
  pid_t pid = 0;
  UniqueFd process;
};

/// The processes of this user whose command line has the word "mount" followed by this file.
[[nodiscard]] std::vector<FoundProcess> processes_that_mount(const std::string& file);

/// Does nothing where it has ended.
void send_signal(const FoundProcess& found, int signal) noexcept;

}  // namespace s3rdmafs::csi
