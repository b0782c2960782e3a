// SPDX-License-Identifier: Apache-2.0
// A named file in the server's own folder rather than O_TMPFILE: linkat() cannot replace an object,
// renameat2() can, and without a moment in which neither version is there. A file that a crash
// leaves is swept at the next start.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "s3rdmafs/base/log.h"
#include "target/store/bucket.h"

namespace s3rdmafs::target {
namespace {

// The mode of data files, not of secrets; the user's umask reduces it.
constexpr mode_t kFileMode = 0666;

}  // namespace

S3Result<StagedFile> StagedFile::create(int folder) {
  std::array<unsigned long long, 2> random{};
  if (::getrandom(random.data(), sizeof(random), 0) != sizeof(random)) {
    return refuse_errno("getrandom", errno);
  }
  std::string name = fmt::format("{:016x}{:016x}", random[0], random[1]);
  UniqueFd fd(::openat(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  if (!fd) return refuse_errno("create a temporary file", errno);
  return StagedFile(folder, std::move(fd), std::move(name));
}

StagedFile StagedFile::adopt(int folder, UniqueFd fd, std::string name) {
  return {folder, std::move(fd), std::move(name)};
}

S3Result<StagedFile> StagedFile::in_place(UniqueFd shared, PartPlace place) {
  if (::lseek(shared.get(), static_cast<off_t>(place.offset_bytes()), SEEK_SET) < 0) {
    return refuse_errno("lseek", errno);
  }
  StagedFile file(-1, std::move(shared), {});
  file.place_.emplace(std::move(place));
  return file;
}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : folder_(other.folder_),
      fd_(std::move(other.fd_)),
      name_(std::exchange(other.name_, std::string())),
      place_(std::move(other.place_)) {}

StagedFile::~StagedFile() {
  if (!name_.empty()) ::unlinkat(folder_, name_.c_str(), 0);
}

S3Result<void> StagedFile::append(const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd_.get(), next, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      return refuse_errno("write", errno);
    }
    next += written;
    size -= static_cast<std::size_t>(written);
  }
  return {};
}

int StagedFile::publish(int to, const std::string& name, bool only_if_absent) {
  const unsigned flags = only_if_absent ? RENAME_NOREPLACE : 0;
  if (::renameat2(folder_, name_.c_str(), to, name.c_str(), flags) != 0) return errno;
  name_.clear();
  return 0;
}

}  // namespace s3rdmafs::target
