// SPDX-License-Identifier: Apache-2.0
#include "fuse/io_mode_policy.h"

#include <utility>

namespace s3rdmafs::fuse {
namespace {

bool names(const IoModePolicy::Match& match, const std::string& path) {
  return match && match(path);
}

}  // namespace

IoModePolicy::IoModePolicy(Rules rules) : rules_(std::make_shared<const Rules>(std::move(rules))) {}

void IoModePolicy::set_rules(Rules rules) {
  auto next = std::make_shared<const Rules>(std::move(rules));
  const MutexLock lock(mutex_);
  rules_.swap(next);
}

std::shared_ptr<const IoModePolicy::Rules> IoModePolicy::rules() const {
  const MutexLock lock(mutex_);
  return rules_;
}

OpenMode IoModePolicy::choose(vfs::Ino ino, const std::string& path, std::uint64_t size_bytes,
                              bool may_be_mapped) {
  const auto rules = this->rules();
  // A file that both lists name is buffered: the page cache serves every program.
  if (names(rules->buffered, path)) return OpenMode::kCached;
  if (names(rules->direct, path)) return OpenMode::kDirect;
  switch (rules->preference) {
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
