// SPDX-License-Identifier: Apache-2.0
// A rename of an object is one of its file: its bytes, its attribute and its modification time go
// with it, and the ETag is in the attribute.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <utility>

#include "target/store/key_path.h"
#include "target/store/store.h"

namespace s3rdmafs::target {
namespace {

bool is_folder(int bucket, const std::string& key) {
  struct stat status{};
  const UniqueFd there = open_beneath(bucket, key, O_PATH);
  return there && ::fstat(there.get(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

KeyPairLock::KeyPairLock(KeyLocks& locks, const std::string& bucket, const std::string& one,
                         const std::string& other)
    : first_(&locks.of(bucket, one)), second_(&locks.of(bucket, other)) {
  if (std::less<>()(second_, first_)) std::swap(first_, second_);
  if (second_ == first_) second_ = nullptr;
  first_->lock();
  if (second_ != nullptr) second_->lock();
}

KeyPairLock::~KeyPairLock() {
  if (second_ != nullptr) second_->unlock();
  first_->unlock();
}

S3Result<void> Bucket::rename(const std::string& from, const std::string& to,
                              bool only_if_absent) const {
  const SplitKey old_name = split_key(from);
  const SplitKey new_name = split_key(to);
  const UniqueFd old_parent = open_beneath(folder_.get(), old_name.parent, O_PATH | O_DIRECTORY);
  if (!old_parent) return refuse(kNoSuchKey);
  const unsigned flags = only_if_absent ? RENAME_NOREPLACE : 0;
  int error = 0;
  for (int tries = 0; tries < Bucket::kRaceTries; ++tries) {
    auto parent = make_folders(new_name.parent);
    if (!parent) return std::unexpected(std::move(parent.error()));
    error = ::renameat2(old_parent.get(), old_name.name.c_str(), parent->get(),
                        new_name.name.c_str(), flags) == 0
                ? 0
                : errno;
    if (error != ENOENT) break;
  }
  if (error == 0) {
    remove_empty_parents(old_name.parent);
    return {};
  }
  if (error == ENOENT) return refuse(kNoSuchKey);
  if (error == EEXIST && !is_folder(folder_.get(), to)) {
    return refuse(kPreconditionFailed, "The key exists already.");
  }
  return refuse_errno("rename", error);
}

}  // namespace s3rdmafs::target
