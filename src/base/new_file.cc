// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs {
namespace {

Result<void> check_place(const std::string& name, const std::string& path) {
  struct stat there{};
  if (::lstat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno(name, errno);
  }
  if (S_ISREG(there.st_mode)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: a file that is not a regular one is there", name));
}

Result<void> write_all(int fd, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno("writing " + name, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<NewFile> NewFile::create(std::string_view kind, const std::string& path) {
  std::string name = fmt::format("the {} {}", kind, path);
  if (auto place = check_place(name, path); !place)
    return std::unexpected(std::move(place.error()));
  std::random_device random;
  std::string draft = fmt::format("{}.{:08x}{:08x}", path, random(), random());
  constexpr mode_t kOwnerOnly = 0600;
  UniqueFd fd(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  if (!fd) return fail_errno(name, errno);
  return NewFile(std::move(name), path, std::move(draft), std::move(fd));
}

NewFile::NewFile(NewFile&& other) noexcept
    : name_(std::move(other.name_)),
      path_(std::move(other.path_)),
      draft_(std::exchange(other.draft_, {})),
      fd_(std::move(other.fd_)) {}

NewFile::~NewFile() {
  if (!draft_.empty()) ::unlink(draft_.c_str());
}

Result<void> NewFile::commit(std::string_view text) {
  if (auto written = write_all(fd_.get(), text, name_); !written) return written;
  if (::fsync(fd_.get()) != 0) return fail_errno("writing " + name_, errno);
  if (auto place = check_place(name_, path_); !place) return place;
  if (::rename(draft_.c_str(), path_.c_str()) != 0) {
    return fail_errno("putting " + name_ + " in place", errno);
  }
  draft_.clear();
  return {};
}

}  // namespace s3rdmafs
