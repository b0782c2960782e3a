// SPDX-License-Identifier: Apache-2.0
#include "target/store/bucket.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "s3rdmafs/base/log.h"
#include "target/store/key_path.h"

namespace s3rdmafs::target {
namespace {

constexpr mode_t kFolderMode = 0777;  // less the user's umask

std::string without_slash(std::string name) {
  if (name.ends_with('/')) name.pop_back();
  return name;
}

}  // namespace

S3Result<OpenObject> Bucket::open_object(const std::string& key) const {
  if (!is_storable_key(key)) return refuse(kNoSuchKey);
  const bool wants_folder = key.back() == '/';
  OpenObject object;
  // O_NONBLOCK: opening a FIFO that lies around must not wait for its writer.
  object.fd = open_beneath(folder_.get(), key, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!object.fd) {
    if (errno == EACCES || errno == EPERM) return refuse_errno("open", errno);
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO) {
      return refuse_errno("open", errno);
    }
    return refuse(kNoSuchKey);
  }
  struct stat status{};
  if (::fstat(object.fd.get(), &status) != 0) return refuse_errno("fstat", errno);
  const bool is_object = wants_folder ? S_ISDIR(status.st_mode) && is_marked_folder(object.fd.get())
                                      : S_ISREG(status.st_mode);
  if (!is_object) return refuse(kNoSuchKey);
  object.size_bytes = wants_folder ? 0 : static_cast<std::uint64_t>(status.st_size);
  object.modified = status.st_mtim;
  object.metadata = load_metadata(object.fd.get(), status);
  return object;
}

S3Result<UniqueFd> Bucket::make_folders(const std::string& path) const {
  UniqueFd whole = open_beneath(folder_.get(), path, kOpenFolder);
  if (whole) return whole;
  if (errno != ENOENT) return refuse_errno("open the key's folder", errno);
  UniqueFd current = open_beneath(folder_.get(), "", kOpenFolder);
  if (!current) return refuse_errno("open the bucket", errno);
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t slash = path.find('/', begin);
    const std::string component = path.substr(begin, slash - begin);
    UniqueFd next;
    for (int tries = 0; !next && tries < kRaceTries; ++tries) {
      if (::mkdirat(current.get(), component.c_str(), kFolderMode) != 0 && errno != EEXIST) {
        return refuse_errno("make the key's folder", errno);
      }
      next = open_beneath(current.get(), component, kOpenFolder);
      if (!next && errno != ENOENT) return refuse_errno("open the key's folder", errno);
    }
    if (!next) return refuse_errno("make the key's folder", ENOENT);
    current = std::move(next);
    begin = slash + 1;
  }
  return current;
}

S3Result<void> Bucket::put(const std::string& key, StagedFile& file, bool only_if_absent) const {
  const SplitKey split = split_key(key);
  int error = 0;
  for (int tries = 0; tries < kRaceTries; ++tries) {
    auto parent = make_folders(split.parent);
    if (!parent) return std::unexpected(std::move(parent.error()));
    error = file.publish(parent->get(), split.name, only_if_absent);
    if (error == 0) return {};
    if (error != ENOENT) break;
  }
  if (only_if_absent && error == EEXIST) {
    struct stat status{};
    const UniqueFd there = open_beneath(folder_.get(), key, O_PATH);
    const bool is_folder = there && ::fstat(there.get(), &status) == 0 && S_ISDIR(status.st_mode);
    if (!is_folder) return refuse(kPreconditionFailed, "The key exists already.");
  }
  return refuse_errno("publish", error);
}

S3Result<void> Bucket::put_folder(const std::string& key, Metadata& metadata) const {
  auto folder = make_folders(key);
  if (!folder) return std::unexpected(std::move(folder.error()));
  return save_metadata(folder->get(), metadata);
}

S3Result<void> Bucket::remove(const std::string& key) const {
  if (!is_storable_key(key)) return {};
  const SplitKey split = split_key(key);
  const UniqueFd parent = open_beneath(folder_.get(), split.parent, O_PATH | O_DIRECTORY);
  if (!parent) return {};
  if (key.back() == '/') {
    const UniqueFd folder = open_beneath(folder_.get(), key, kOpenFolder);
    if (!folder) return {};
    if (auto unmarked = unmark_folder(folder.get()); !unmarked) return unmarked;
    remove_empty_parents(key);
    return {};
  }
  struct stat status{};
  if (::fstatat(parent.get(), split.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(status.st_mode)) {
    return {};
  }
  if (::unlinkat(parent.get(), split.name.c_str(), 0) != 0 && errno != ENOENT) {
    return refuse_errno("delete", errno);
  }
  remove_empty_parents(split.parent);
  return {};
}

void Bucket::remove_empty_parents(std::string path) const {
  while (!path.empty()) {
    {
      const UniqueFd folder = open_beneath(folder_.get(), path, kOpenFolder);
      if (!folder || is_marked_folder(folder.get())) return;
    }
    const SplitKey split = split_key(path);
    const UniqueFd parent = open_beneath(folder_.get(), split.parent, O_PATH | O_DIRECTORY);
    const std::string name = without_slash(split.name);
    if (!parent || ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) != 0) return;
    path = split.parent;
  }
}

}  // namespace s3rdmafs::target
