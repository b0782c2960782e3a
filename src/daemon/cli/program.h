// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace s3rdmafs::daemon {

/// The whole program: parses the command line and runs the command that it names.
/// @param arguments  argv, the program's name first
/// @return the exit status of the process (verbs.h)
[[nodiscard]] int run_program(const std::vector<std::string>& arguments);

}  // namespace s3rdmafs::daemon
