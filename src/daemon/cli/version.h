// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace s3rdmafs::daemon {

/// The text of --version after the program's name: version and commit on the first line; then the
/// fabrics and the libraries of this build, which a report of a fault should name.
std::string version_text();

}  // namespace s3rdmafs::daemon
