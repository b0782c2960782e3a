// SPDX-License-Identifier: Apache-2.0
// A user who can write here could make the next mount remove or store objects, and one who can read
// here reads staged files. So a folder must be its owner's alone.
#include "journal/state_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::journal {
namespace {

/// For messages: "write.state_dir /var/lib/s3rdmafs/0123".
std::string named(std::string_view setting, const std::string& path) {
  return fmt::format("{} {}", setting, path);
}

Result<void> make_folders(const std::string& path, std::string_view setting) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string some = path.substr(0, end);
    if (::mkdir(some.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail_errno(named(setting, path) + ": make the folder " + some, errno);
    }
    if (end == std::string::npos) return {};
  }
}

Result<void> check_rights(int folder, const std::string& name) {
  struct stat status{};
  if (::fstat(folder, &status) != 0) return fail_errno("stat " + name, errno);
  if (status.st_uid != ::geteuid()) {
    return fail_with_advice(ErrorCode::kAccessDenied,
                            fmt::format("{} belongs to user {}, not to the mounting user {}", name,
                                        status.st_uid, ::geteuid()),
                            "choose another folder, or change its owner");
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail_with_advice(ErrorCode::kAccessDenied,
                            fmt::format("{} has mode {:04o}, so that others may enter it", name,
                                        status.st_mode & 07777),
                            "take their rights from it: chmod 700");
  }
  return {};
}

Result<UniqueFd> open_folder(const std::string& path, const std::string& name) {
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder) return folder;
  if (errno == ENOTDIR || errno == ELOOP) {
    return fail_with_advice(ErrorCode::kNotDirectory,
                            name + " is not a folder, or a symbolic link to one",
                            "name the folder itself");
  }
  return fail_errno("open " + name, errno);
}

// Of the open file: the kernel ends it with the process.
bool try_lock(int lock) {
  struct flock wanted{};
  wanted.l_type = F_WRLCK;
  wanted.l_whence = SEEK_SET;
  return ::fcntl(lock, F_OFD_SETLK, &wanted) == 0;
}

// A killed mount gives its lock back with the last of its threads and of its memory, a moment after
// its process seems to be gone. A mount that follows at once should not fail because of that.
bool lock_soon(int lock, const Clock& clock) {
  constexpr auto kPatience = std::chrono::seconds(2);
  constexpr auto kPause = std::chrono::milliseconds(50);
  const Deadline end = clock.now() + kPatience;
  Mutex mutex;
  CondVar never;  // notified by no thread: a pause by the clock
  const MutexLock held(mutex);
  while (!try_lock(lock)) {
    const bool is_taken = errno == EAGAIN || errno == EACCES;
    if (!is_taken || clock.now() >= end) return false;
    const Deadline next = clock.now() + kPause;
    while (clock.wait_until(never, mutex, next)) {
    }
  }
  return true;
}

// The process's number is in the file for the message alone.
std::string holder_of(int lock) {
  std::array<char, 32> text{};
  const ssize_t length = ::pread(lock, text.data(), text.size(), 0);
  if (length <= 0) return "";
  return " (process " + std::string(text.data(), static_cast<std::size_t>(length)) + ")";
}

Result<UniqueFd> take_lock(int folder, const std::string& name, const Clock& clock) {
  UniqueFd lock(::openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return fail_errno("open the lock of " + name, errno);
  if (!lock_soon(lock.get(), clock)) {
    if (errno != EAGAIN && errno != EACCES) return fail_errno("lock " + name, errno);
    return fail_with_advice(ErrorCode::kBusy,
                            name + " is in use by another mount" + holder_of(lock.get()),
                            "unmount that one, or give each mount a folder of its own");
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(lock.get(), 0) != 0 || ::pwrite(lock.get(), pid.data(), pid.size(), 0) < 0) {
    log::debug("{}: lock cannot be written; it holds all the same", name);
  }
  return lock;
}

}  // namespace

Result<StateFolder> StateFolder::take(const std::string& path, std::string_view setting,
                                      const Clock& clock) {
  const std::string name = named(setting, path);
  if (!path.starts_with('/')) {
    return fail(ErrorCode::kInvalidArgument, name + ": an absolute path is needed");
  }
  if (auto made = make_folders(path, setting); !made) return std::unexpected(made.error());
  auto folder = open_folder(path, name);
  if (!folder) return std::unexpected(folder.error());
  if (auto ok = check_rights(folder->get(), name); !ok) return std::unexpected(ok.error());
  auto lock = take_lock(folder->get(), name, clock);
  if (!lock) return std::unexpected(lock.error());
  return StateFolder(path, std::move(*folder), std::move(*lock));
}

Result<std::vector<std::string>> StateFolder::names() const {
  // Of its own: a copy of the descriptor would share, and move, the position.
  const int fd = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail_errno("open " + path_, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd), ::closedir);
  if (!directory) return fail_errno("list " + path_, errno);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

}  // namespace s3rdmafs::journal
