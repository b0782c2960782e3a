// SPDX-License-Identifier: Apache-2.0
#include "fuse/io_mode_policy.h"

#include <utility>

namespace s3rdmafs::fuse {
namespace {

bool names(const IoModePolicy::Match& match, const std::string& path) {
  return match && match(path);
}

}  // namespace

IoModePolicy::IoModePolicy(Rules rules) : rules_(std::move(rules)) {}

OpenMode IoModePolicy::choose(vfs::Ino ino, const std::string& path, std::uint64_t size_bytes,
                              bool may_be_mapped) {
  // A file that both lists name is buffered: the page cache serves every program.
  if (names(rules_.buffered, path)) return OpenMode::kCached;
  if (names(rules_.direct, path)) return OpenMode::kDirect;
  switch (rules_.preference) {
    case Preference::kBuffered:
      return OpenMode::kCached;
    case Preference::kDirect:
      return OpenMode::kDirect;
    case Preference::kAuto:
      break;
  }
  if (size_bytes < kLargeFileBytes || !may_be_mapped) return OpenMode::kCached;
  return history_.wants_page_cache(ino) ? OpenMode::kCached : OpenMode::kDirect;
}

}  // namespace s3rdmafs::fuse
