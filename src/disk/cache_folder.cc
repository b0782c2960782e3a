// SPDX-License-Identifier: Apache-2.0
// A user who can write here could make us serve wrong bytes on purpose (not by accident, because of
// the checksums), and one who can read here reads the bucket. So a folder must be its owner's
// alone.
#include "disk/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::disk {
namespace {

Result<void> check_owner(const std::string& path, int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail_errno("stat " + path, errno);
  if (status.st_uid != ::geteuid()) {
    return fail_with_advice(ErrorCode::kAccessDenied,
                            fmt::format("disk.path {} belongs to user {}, not to the mounting "
                                        "user {}",
                                        path, status.st_uid, ::geteuid()),
                            "choose another folder, or change its owner");
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail_with_advice(ErrorCode::kAccessDenied,
                            fmt::format("disk.path {} has mode {:04o}, so that others may enter it",
                                        path, status.st_mode & 07777),
                            "run: chmod 700 " + path);
  }
  return {};
}

std::string holder_of(int lock) {
  std::array<char, 32> text{};
  const ssize_t length = ::pread(lock, text.data(), text.size(), 0);
  return length > 0
             ? " (process " + std::string(text.data(), static_cast<std::size_t>(length)) + ")"
             : "";
}

// Of the open file, as flock's are, but it can be asked for without being taken.
struct flock whole_file() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// A killed mount gives its lock back with the last of its threads and of its memory, a moment after
// its process seems to be gone. A mount that follows at once should not fail because of that.
bool take_lock_soon(int lock, const Clock& clock) {
  struct flock wanted = whole_file();
  constexpr auto kPatience = std::chrono::seconds(2);
  constexpr auto kPause = std::chrono::milliseconds(50);
  const Deadline end = clock.now() + kPatience;
  Mutex mutex;
  CondVar never;  // notified by no thread: a pause by the clock
  const MutexLock held(mutex);
  while (::fcntl(lock, F_OFD_SETLK, &wanted) != 0) {
    const bool is_taken = errno == EAGAIN || errno == EACCES;
    if (!is_taken || clock.now() >= end) return false;
    const Deadline next = clock.now() + kPause;
    while (clock.wait_until(never, mutex, next)) {
    }
  }
  return true;
}

std::unexpected<Error> in_use(const std::string& path, int lock) {
  return fail_with_advice(
      ErrorCode::kBusy,
      fmt::format("disk.path {} is in use by another mount{}", path, holder_of(lock)),
      "give each mount a folder of its own");
}

// The process's number is in it for the error message alone.
Result<UniqueFd> take_lock(const std::string& path, int folder, const Clock& clock) {
  UniqueFd lock(::openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return fail_errno("disk.path: open " + path + "/lock", errno);
  if (!take_lock_soon(lock.get(), clock)) {
    if (errno == EAGAIN || errno == EACCES) return in_use(path, lock.get());
    return fail_errno("disk.path: lock " + path + "/lock", errno);
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(lock.get(), 0) != 0 || ::pwrite(lock.get(), pid.data(), pid.size(), 0) < 0) {
    log::debug("disk: {}/lock cannot be written",
               path);  // a full disk: the lock holds all the same
  }
  return lock;
}

Result<UniqueFd> look_at_lock(const std::string& path, int folder) {
  UniqueFd lock(::openat(folder, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock && errno == ENOENT) return lock;
  if (!lock) return fail_errno("disk.path: open " + path + "/lock", errno);
  struct flock other = whole_file();
  if (::fcntl(lock.get(), F_OFD_GETLK, &other) != 0) {
    return fail_errno("disk.path: ask for the lock of " + path + "/lock", errno);
  }
  if (other.l_type != F_UNLCK) return in_use(path, lock.get());
  return lock;
}

// Errors: as CacheFolder::look_at(), but kBusy.
Result<UniqueFd> open_owned(const std::string& path) {
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) {
    if (errno == ENOENT) return fail(ErrorCode::kNotFound, "disk.path " + path + " is not there");
    if (errno == ENOTDIR || errno == ELOOP) {
      return fail_with_advice(ErrorCode::kNotDirectory,
                              "disk.path " + path + " is not a folder, or a symbolic link to one",
                              "name the folder itself");
    }
    return fail_errno("disk.path: open " + path, errno);
  }
  if (auto ok = check_owner(path, folder.get()); !ok) return std::unexpected(ok.error());
  return folder;
}

}  // namespace

Result<CacheFolder> CacheFolder::take(const std::string& path, const Clock& clock) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno("disk.path: make the folder " + path, errno);
  }
  auto folder = open_owned(path);
  if (!folder) return std::unexpected(folder.error());
  auto lock = take_lock(path, folder->get(), clock);
  if (!lock) return std::unexpected(lock.error());
  return CacheFolder(std::move(*folder), std::move(*lock));
}

Result<CacheFolder> CacheFolder::look_at(const std::string& path) {
  auto folder = open_owned(path);
  if (!folder) return std::unexpected(folder.error());
  auto lock = look_at_lock(path, folder->get());
  if (!lock) return std::unexpected(lock.error());
  return CacheFolder(std::move(*folder), std::move(*lock));
}

Result<std::uint64_t> CacheFolder::free_bytes() const {
  struct statvfs status{};
  if (::fstatvfs(folder_.get(), &status) != 0) return fail_errno("statvfs of disk.path", errno);
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

Result<std::vector<std::string>> CacheFolder::names() const {
  // Of its own: a copy of the descriptor would share, and move, the position.
  const int fd = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail_errno("open disk.path", errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd), ::closedir);
  if (!directory) return fail_errno("list disk.path", errno);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory.get())) names.emplace_back(entry->d_name);
  return names;
}

}  // namespace s3rdmafs::disk
