// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::target {

/// Makes `path` a file with the port's number. It is renamed into place, so that whoever waits for
/// it never reads half of it, and no symbolic link is followed, wherever the path leads: the folder
/// may be one where others can make files.
/// Errors: kSystem, as of open(2), write(2) and rename(2).
[[nodiscard]] Result<void> write_port_file(const std::string& path, std::uint16_t port);

}  // namespace s3rdmafs::target
