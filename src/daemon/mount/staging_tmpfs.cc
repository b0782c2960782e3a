// SPDX-License-Identifier: Apache-2.0
// Why one of its own: /dev/shm has room for half of the memory, which all programs share, so a
// program that the kernel lets write there could fill it.
//
// Huge pages where a file is large enough for them: the kernel then writes five times as fast
// (measured on Linux 6.18), and a small file takes a page of 4 KiB all the same.
//
// The folder is opened first, and the file system is mounted on what was opened: /dev/shm is
// everybody's, and a name there can become another user's.
#include "daemon/mount/staging_tmpfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon {
namespace {

UniqueFd open_own_folder(const std::string& folder) {
  UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  const bool is_own = opened && ::fstat(opened.get(), &status) == 0 &&
                      status.st_uid == ::geteuid() && (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  return is_own ? std::move(opened) : UniqueFd();
}

bool is_mounted_tmpfs(int folder) {
  struct stat own{};
  struct stat above{};
  struct statfs kind{};
  return ::fstat(folder, &own) == 0 && ::fstatat(folder, "..", &above, 0) == 0 &&
         own.st_dev != above.st_dev && ::fstatfs(folder, &kind) == 0 && kind.f_type == TMPFS_MAGIC;
}

// The lock of journal::StateFolder stays when all else is gone.
bool has_staged_files(int folder) {
  const int own = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(own), ::closedir);
  if (!entries) return true;
  ::rewinddir(entries.get());
  while (const dirent* const entry = ::readdir(entries.get())) {
    const std::string_view name(entry->d_name);
    if (name != "." && name != ".." && name != "lock") return true;
  }
  return false;
}

// mount(2) takes a path, and this one leads to what was opened.
std::string path_of(int folder) { return fmt::format("/proc/self/fd/{}", folder); }

bool mount_tmpfs(int folder, std::uint64_t size_bytes, bool is_mounted) {
  const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC |
                              (is_mounted ? static_cast<unsigned long>(MS_REMOUNT) : 0UL);
  const std::string options = fmt::format("size={},mode=0700", size_bytes);
  for (const char* const pages : {",huge=within_size", ""}) {  // a kernel may have none
    if (::mount("s3rdmafs-staging", path_of(folder).c_str(), "tmpfs", flags,
                (options + pages).c_str()) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<StagingTmpfs> StagingTmpfs::make(const config::MountConfig& config,
                                               const std::string& folder) {
  if (config.write.staging_dir != "auto" || ::geteuid() != 0) return std::nullopt;
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return std::nullopt;
  const UniqueFd opened = open_own_folder(folder);
  if (!opened) return std::nullopt;  // StagingArea::take says why
  const bool is_mounted = is_mounted_tmpfs(opened.get());
  if (!is_mounted && has_staged_files(opened.get())) {
    log::info("staging: {} has files of an earlier mount; it gets no tmpfs of its own", folder);
    return std::nullopt;
  }
  if (!mount_tmpfs(opened.get(), config.write.staging_bytes, is_mounted)) {
    log::info("staging: {} {}: {}; the daemon takes each write of a program", folder,
              is_mounted ? "keeps the size of its tmpfs" : "gets no tmpfs of its own",
              std::strerror(errno));
    if (!is_mounted) return std::nullopt;
  }
  return StagingTmpfs(folder);
}

std::optional<StagingTmpfs> StagingTmpfs::find(const config::MountConfig& config,
                                               const std::string& folder) {
  if (config.write.staging_dir != "auto" || ::geteuid() != 0) return std::nullopt;
  const UniqueFd opened = open_own_folder(folder);
  if (!opened || !is_mounted_tmpfs(opened.get())) return std::nullopt;
  return StagingTmpfs(folder);
}

StagingTmpfs::StagingTmpfs(StagingTmpfs&& other) noexcept
    : folder_(std::exchange(other.folder_, {})) {}

// A mount that has taken the folder meanwhile has it open, so the kernel refuses.
StagingTmpfs::~StagingTmpfs() {
  if (folder_.empty()) return;
  {
    const UniqueFd opened = open_own_folder(folder_);
    if (!opened || !is_mounted_tmpfs(opened.get()) || has_staged_files(opened.get())) return;
  }
  if (::umount2(folder_.c_str(), UMOUNT_NOFOLLOW) != 0) {
    log::debug("staging: {} stays mounted: {}", folder_, std::strerror(errno));
  }
}

}  // namespace s3rdmafs::daemon
