// SPDX-License-Identifier: Apache-2.0
#include "target/port_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::target {

Result<void> write_port_file(const std::string& path, std::uint16_t port) {
  const std::string unfinished = path + ".tmp";
  // A file that an earlier run left, or a link made by another user. A name that cannot be removed
  // makes O_EXCL fail.
  ::unlink(unfinished.c_str());
  constexpr mode_t kMode = 0666;  // less the umask, as of any file that a program makes
  const UniqueFd file(
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
  if (!file) return fail_errno("--port-file " + unfinished, errno);
  const std::string text = fmt::format("{}\n", port);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return fail_errno("--port-file " + unfinished, errno);
  }
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) {
    return fail_errno("--port-file " + path, errno);
  }
  return {};
}

}  // namespace s3rdmafs::target
