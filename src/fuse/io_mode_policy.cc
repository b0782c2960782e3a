// SPDX-License-Identifier: Apache-2.0
#include "fuse/io_mode_policy.h"

namespace s3rdmafs::fuse {

IoModePolicy::IoModePolicy(const config::MountConfig::Read& rules)
    : mode_(rules.mode), buffered_(rules.buffered), direct_(rules.direct) {}

OpenMode IoModePolicy::choose(vfs::Ino ino, const std::string& path, std::uint64_t size_bytes,
                              bool may_be_mapped) {
  // Patterns say more than the mode of all files. Who names a file in both lists did so by a wider
  // pattern in one of them; the page cache serves every program.
  if (buffered_.match(path)) return OpenMode::kCached;
  if (direct_.match(path)) return OpenMode::kDirect;
  switch (mode_) {
    case config::ReadMode::kBuffered:
      return OpenMode::kCached;
    case config::ReadMode::kDirect:
      return OpenMode::kDirect;
    case config::ReadMode::kAuto:
      break;
  }
  if (size_bytes < kLargeFileBytes || !may_be_mapped) return OpenMode::kCached;
  return habits_.wants_page_cache(ino) ? OpenMode::kCached : OpenMode::kDirect;
}

}  // namespace s3rdmafs::fuse
