// SPDX-License-Identifier: Apache-2.0
#include "config/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::config {
namespace {

constexpr std::uint64_t kBytesMax = kMiB;

std::unexpected<Error> refuse(const std::filesystem::path& file, std::string_view why) {
  return fail(ErrorCode::kConfig, file.string() + ": " + std::string(why));
}

}  // namespace

Result<SmallFile> read_small_file(const std::filesystem::path& file) {
  // O_NONBLOCK: a FIFO given by mistake must not hang the mount before it is refused below.
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return refuse(file, std::strerror(errno));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return refuse(file, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return refuse(file, "is a directory; expected a file");
  if (!S_ISREG(status.st_mode)) return refuse(file, "is not a regular file");
  if (static_cast<std::uint64_t>(status.st_size) > kBytesMax) {
    return refuse(file, "is larger than 1 MiB; expected a short text file");
  }

  SmallFile result{.text = {}, .mode = status.st_mode & 07777};
  char buffer[16 * 1024];
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(file, std::strerror(errno));
    if (got == 0) return result;
    result.text.append(buffer, static_cast<std::size_t>(got));
    if (result.text.size() > kBytesMax) return refuse(file, "is larger than 1 MiB");
  }
}

}  // namespace s3rdmafs::config
