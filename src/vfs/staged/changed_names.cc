// SPDX-License-Identifier: Apache-2.0
// Why: a handle that the kernel reads by itself cannot follow a file that is written again, so the
// files that this mount writes are not read so. A filter of one mark a name, since a wrong yes
// costs speed and a wrong no costs a reader the new bytes.
#include "vfs/staged/changed_names.h"

#include <functional>

namespace s3rdmafs::vfs {

std::size_t ChangedNames::mark_of(std::string_view key) {
  return std::hash<std::string_view>()(key) % kMarks;
}

void ChangedNames::add(std::string_view key) {
  const MutexLock lock(mutex_);
  marks_[mark_of(key)] = true;
}

bool ChangedNames::has(std::string_view key) const {
  const MutexLock lock(mutex_);
  return marks_[mark_of(key)];
}

}  // namespace s3rdmafs::vfs
