// SPDX-License-Identifier: Apache-2.0
#include "config/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::config {
namespace {

constexpr std::uint64_t kBytesMax = kMiB;

std::unexpected<Error> refuse(const std::filesystem::path& file, std::string_view why) {
  return fail(ErrorCode::kConfig, file.string() + ": " + std::string(why));
}

}  // namespace

std::string open_secret_warning(const std::filesystem::path& file, mode_t mode) {
  if ((mode & (S_IRGRP | S_IROTH)) == 0) return {};
  return fmt::format(
      "{} holds a secret key and has mode {:04o}, so that others may read it; run: chmod 600 {}",
      file.string(), mode & 07777, file.string());
}

std::string open_to_change_warning(const std::filesystem::path& file, const SmallFile& contents) {
  if (contents.owner != 0) {
    return fmt::format(
        "{} belongs to user {}, who could change what root mounts; run: chown root {}",
        file.string(), contents.owner, file.string());
  }
  const bool is_groups = (contents.mode & S_IWGRP) != 0 && contents.group != 0;
  if (!is_groups && (contents.mode & S_IWOTH) == 0) return {};
  return fmt::format(
      "{} has mode {:04o}, so that others may change what root mounts; run: chmod go-w {}",
      file.string(), contents.mode & 07777, file.string());
}

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

  SmallFile result{
      .text = {}, .mode = status.st_mode & 07777, .owner = status.st_uid, .group = status.st_gid};
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
