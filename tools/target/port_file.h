// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::target {

/// Makes `path` a file with the port's number. It is renamed into place, so that a program
/// that waits for it never reads half of it. No symbolic link is followed, since other users may be
/// able to make files in the folder.
/// Errors: kSystem, as of open(2), write(2) and rename(2).
[[nodiscard]] Result<void> write_port_file(const std::string& path, std::uint16_t port);

}  // namespace s3rdmafs::target
