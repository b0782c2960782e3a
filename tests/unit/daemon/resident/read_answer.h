// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <string>

#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon {

/// Everything that the daemon sends, up to the end of the connection.
[[nodiscard]] inline std::string read_answer(const UniqueFd& socket) {
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::recv(socket.get(), buffer, sizeof(buffer), 0)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace s3rdmafs::daemon
