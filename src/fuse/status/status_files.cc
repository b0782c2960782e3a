// SPDX-License-Identifier: Apache-2.0
#include "fuse/status/status_files.h"

#include <algorithm>
#include <utility>

namespace s3rdmafs::fuse {

const StatusFile* StatusFiles::find(vfs::Ino ino) const noexcept {
  const vfs::Ino index = ino - kFolderIno - 1;  // huge for the folder
  return index < files_.size() ? &files_[index] : nullptr;
}

vfs::Ino StatusFiles::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(files_, name, &StatusFile::name);
  return found == files_.end() ? 0 : ino_of(static_cast<std::size_t>(found - files_.begin()));
}

std::uint64_t StatusFiles::open(const StatusFile& file) {
  std::string text = file.text();
  const MutexLock lock(mutex_);
  texts_.emplace(++last_handle_, std::move(text));
  return last_handle_;
}

std::string StatusFiles::read(std::uint64_t handle, std::uint64_t offset, std::size_t size) const {
  const MutexLock lock(mutex_);
  const auto found = texts_.find(handle);
  if (found == texts_.end() || offset >= found->second.size()) return {};
  return found->second.substr(offset, size);
}

void StatusFiles::release(std::uint64_t handle) {
  const MutexLock lock(mutex_);
  texts_.erase(handle);
}

}  // namespace s3rdmafs::fuse
