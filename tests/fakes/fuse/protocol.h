// SPDX-License-Identifier: Apache-2.0
// The FUSE protocol, and what it has gained since the kernel headers of Debian 12 (7.38).
#pragma once

#include <linux/fuse.h>
#include <sys/ioctl.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifndef FOPEN_PASSTHROUGH
#define FOPEN_PASSTHROUGH (1 << 7)
#endif
#ifndef FUSE_DIRECT_IO_ALLOW_MMAP
#define FUSE_DIRECT_IO_ALLOW_MMAP (1ULL << 36)
#endif
#ifndef FUSE_PASSTHROUGH
#define FUSE_PASSTHROUGH (1ULL << 37)
#endif

namespace s3rdmafs::fakes {

/// struct fuse_backing_map of Linux 6.9.
struct BackingMap {
  std::int32_t fd;
  std::uint32_t flags;
  std::uint64_t padding;
};
/// The last field of fuse_open_out: `padding` in the headers of Debian 12, `backing_id` since Linux
/// 6.9.
[[nodiscard]] inline std::uint32_t backing_id_of(const fuse_open_out& out) {
  std::uint32_t id = 0;
  std::memcpy(&id, reinterpret_cast<const std::byte*>(&out) + sizeof(out) - sizeof(id), sizeof(id));
  return id;
}

inline constexpr unsigned long kBackingOpenIoctl = _IOW(FUSE_DEV_IOC_MAGIC, 1, BackingMap);
inline constexpr unsigned long kBackingCloseIoctl = _IOW(FUSE_DEV_IOC_MAGIC, 2, std::uint32_t);

}  // namespace s3rdmafs::fakes
