// SPDX-License-Identifier: Apache-2.0
// Why a private tmpfs and not a memfd: a memfd gets huge pages only if the administrator has
// switched them on for all of shmem (default: never); a mount option does it for this tmpfs alone.
#include "memory/memory_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace s3rdmafs::memory {
Result<HugeTmpfs> HugeTmpfs::mount(std::uint64_t size_bytes) {
  const UniqueFd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (!context) return fail_errno("fsopen tmpfs", errno);
  const std::string size = std::to_string(size_bytes);
  if (::fsconfig(context.get(), FSCONFIG_SET_STRING, "huge", "always", 0) != 0 ||
      ::fsconfig(context.get(), FSCONFIG_SET_STRING, "size", size.c_str(), 0) != 0) {
    return fail_errno("tmpfs with huge=always", errno);
  }
  // Needs Linux 6.4. Older kernels refuse it, but registered memory is locked or pinned anyway.
  ::fsconfig(context.get(), FSCONFIG_SET_FLAG, "noswap", nullptr, 0);
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return fail_errno("creating a tmpfs", errno);
  }
  UniqueFd root(::fsmount(context.get(), FSMOUNT_CLOEXEC,
                          MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  if (!root) return fail_errno("fsmount", errno);
  return HugeTmpfs(std::move(root));
}

Result<UniqueFd> HugeTmpfs::make_file() const {
  UniqueFd file(::openat(root_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) return fail_errno("O_TMPFILE on tmpfs", errno);
  // Needs Linux 6.6. Programs read passed-through files in 4 KiB at 1 us each, of which the time of
  // access took 5 %. No program can see that time.
  int flags = FS_NOATIME_FL;
  ::ioctl(file.get(), FS_IOC_SETFLAGS, &flags);
  return file;
}

namespace {

Result<UniqueFd> open_on_private_tmpfs(std::uint64_t size_bytes) {
  const auto tmpfs = HugeTmpfs::mount(size_bytes);
  if (!tmpfs) return std::unexpected(tmpfs.error());
  return tmpfs->make_file();
}

}  // namespace

Result<MemoryFile> make_memory_file(std::uint64_t size_bytes) {
  MemoryFile memory;
  if (auto file = open_on_private_tmpfs(size_bytes)) {
    memory.fd = std::move(*file);
    memory.huge_pages = true;
  } else {
    memory.note = file.error().detail;
    memory.fd.reset(::memfd_create("s3rdmafs-memory", MFD_CLOEXEC));
    if (!memory.fd) return fail_errno("memfd_create", errno);
  }
  if (::ftruncate(memory.fd.get(), static_cast<off_t>(size_bytes)) != 0) {
    return fail_errno("sizing a file of registered memory", errno);
  }
  return memory;
}

}  // namespace s3rdmafs::memory
