// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/report/report_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon::doctor {
namespace {

Result<void> check_place(const std::string& path) {
  struct stat there{};
  if (::lstat(path.c_str(), &there) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno("the report " + path, errno);
  }
  if (S_ISREG(there.st_mode)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("the report {}: a file that is not a regular one is there", path));
}

Result<void> write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno("writing the report " + path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<ReportFile> ReportFile::create(const std::string& path) {
  if (auto place = check_place(path); !place) return std::unexpected(std::move(place.error()));
  std::random_device random;
  std::string draft = fmt::format("{}.{:08x}{:08x}", path, random(), random());
  constexpr mode_t kOwnerOnly = 0600;
  UniqueFd fd(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  if (!fd) return fail_errno("the report " + path, errno);
  return ReportFile(path, std::move(draft), std::move(fd));
}

ReportFile::ReportFile(ReportFile&& other) noexcept
    : path_(std::move(other.path_)),
      draft_(std::exchange(other.draft_, {})),
      fd_(std::move(other.fd_)) {}

ReportFile::~ReportFile() {
  if (!draft_.empty()) ::unlink(draft_.c_str());
}

Result<void> ReportFile::commit(std::string_view text) {
  if (auto written = write_all(fd_.get(), text, path_); !written) return written;
  if (::fsync(fd_.get()) != 0) return fail_errno("writing the report " + path_, errno);
  if (auto place = check_place(path_); !place) return place;
  if (::rename(draft_.c_str(), path_.c_str()) != 0) {
    return fail_errno("renaming the report to " + path_, errno);
  }
  draft_.clear();
  return {};
}

}  // namespace s3rdmafs::daemon::doctor
