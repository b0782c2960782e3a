// SPDX-License-Identifier: Apache-2.0
// A pod's mount is made apart (open_tree(2)), is given its attributes, and is then moved to its
// place: a pod that must not write never has a mount that can, also if this process is killed in
// between.
#include "csi/node/pod_folder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::csi {
namespace {

// A program that has just been ended gives its files back within moments; one that has not is the
// caller's to end.
constexpr std::chrono::seconds kBusyPatience{5};
constexpr std::chrono::milliseconds kBusyPause{50};

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<std::optional<MountEntry>> own_mount_on(const std::string& real) {
  auto found = mount_on(real);
  if (found && *found && !is_ours(**found)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has a mount of type {}, which is not of this driver",
                            printable(real), printable((*found)->type)));
  }
  return found;
}

Result<void> unmount_all(const std::string& real, const Clock& clock, Deadline end) {
  while (true) {
    const auto found = own_mount_on(real);
    if (!found) return std::unexpected(found.error());
    if (!*found) return {};
    if (::umount2(real.c_str(), UMOUNT_NOFOLLOW) == 0) continue;
    if (errno != EBUSY) return fail_errno("unmount " + printable(real), errno);
    if (clock.now() >= end) {
      return fail(ErrorCode::kUnsupported,
                  printable(real) + " is in use; its programs have to end first");
    }
    pause_until(clock, std::min(end, clock.now() + kBusyPause));
  }
}

}  // namespace

void pause_until(const Clock& clock, Deadline moment) {
  Mutex mutex;
  CondVar never;  // notified by no thread
  const MutexLock held(mutex);
  while (clock.wait_until(never, mutex, moment)) {
  }
}

Result<PodFolder> PodFolder::open(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), ::free);
  if (!real) return fail_errno("the folder of kubelet, " + path, errno);
  UniqueFd folder(::open(real.get(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail_errno("open " + path, errno);
  return PodFolder(path, real.get(), std::move(folder));
}

Result<std::string> PodFolder::real_path(const std::string& path) const {
  if (path.starts_with(path_ + "/")) return real_ + path.substr(path_.size());
  if (path.starts_with(real_ + "/")) return path;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is not below {}", printable(path), printable(path_)));
}

Result<UniqueFd> PodFolder::open_parent(const std::string& path) const {
  const auto real = real_path(path);
  if (!real) return std::unexpected(real.error());
  const std::string below = real->substr(real_.size() + 1);
  const std::size_t slash = below.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : below.substr(0, slash);
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd opened(
      static_cast<int>(::syscall(SYS_openat2, folder_.get(), parent.c_str(), &how, sizeof(how))));
  if (opened) return opened;
  if (errno == ENOENT) {
    return fail(ErrorCode::kNotFound,
                fmt::format("the parent of {} does not exist", printable(path)));
  }
  if (errno == ELOOP || errno == EXDEV) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} leads through a symbolic link", printable(path)));
  }
  return fail_errno("open the parent of " + printable(path), errno);
}

Result<void> PodFolder::bind(const std::string& source, const std::string& path,
                             std::uint64_t attributes) const {
  const auto parent = open_parent(path);
  if (!parent) return std::unexpected(parent.error());
  const std::string name = last_part(path);
  if (::mkdirat(parent->get(), name.c_str(), 0750) != 0 && errno != EEXIST) {
    return fail_errno("make " + printable(path), errno);
  }
  const UniqueFd place(
      ::openat(parent->get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!place) {
    if (errno == ELOOP || errno == ENOTDIR) {
      return fail(ErrorCode::kInvalidArgument, printable(path) + " is not a directory");
    }
    return fail_errno("open " + printable(path), errno);
  }
  const UniqueFd copy(::open_tree(AT_FDCWD, source.c_str(),
                                  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW));
  if (!copy) return fail_errno("copy the mount " + source, errno);
  mount_attr wanted{};
  wanted.attr_set = attributes & ~static_cast<std::uint64_t>(MOUNT_ATTR_NOATIME);
  if ((attributes & MOUNT_ATTR_NOATIME) != 0) {
    wanted.attr_set |= MOUNT_ATTR_NOATIME;
    wanted.attr_clr = MOUNT_ATTR__ATIME;
  }
  if (attributes != 0 &&
      ::mount_setattr(copy.get(), "", AT_EMPTY_PATH, &wanted, sizeof(wanted)) != 0) {
    return fail_errno("set the attributes of a mount (Linux 5.12 or later does it)", errno);
  }
  if (::move_mount(copy.get(), "", place.get(), "",
                   MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0) {
    return fail_errno("mount at " + printable(path), errno);
  }
  return {};
}

Result<std::optional<MountEntry>> PodFolder::mounted(const std::string& path) const {
  const auto real = real_path(path);
  if (!real) return std::unexpected(real.error());
  return own_mount_on(*real);
}

Result<void> PodFolder::detach_dead(const std::string& path) const {
  while (true) {
    const auto found = mounted(path);
    if (!found) return std::unexpected(found.error());
    if (!*found) return {};
    if (::umount2((*found)->point.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH) != 0 && errno != EINVAL) {
      return fail_errno("unmount " + printable(path), errno);
    }
  }
}

Result<void> PodFolder::unbind(const std::string& path, const Clock& clock,
                               Deadline deadline) const {
  const auto real = real_path(path);
  if (!real) return std::unexpected(real.error());
  const auto parent = open_parent(path);
  if (!parent && parent.error().code == ErrorCode::kNotFound) return {};
  if (!parent) return std::unexpected(parent.error());
  const Deadline end = std::min(deadline, clock.now() + kBusyPatience);
  if (auto done = unmount_all(*real, clock, end); !done) return done;
  if (::unlinkat(parent->get(), last_part(path).c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT)
    return {};
  if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) {
    return fail(ErrorCode::kInvalidArgument,
                printable(path) + " is not an empty folder, so it stays");
  }
  return fail_errno("remove " + printable(path), errno);
}

}  // namespace s3rdmafs::csi
