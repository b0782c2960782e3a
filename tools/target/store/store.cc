// SPDX-License-Identifier: Apache-2.0
#include "target/store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "s3rdmafs/base/log.h"
#include "target/store/key_path.h"
#include "target/store/tree.h"

namespace s3rdmafs::target {
namespace {

constexpr mode_t kBucketMode = 0777;  // less the user's umask

Result<UniqueFd> make_internal(int root, const std::string& path) {
  if (::mkdirat(root, path.c_str(), kPrivateMode) != 0 && errno != EEXIST) {
    return fail_errno(fmt::format("--root: make {}", path), errno);
  }
  UniqueFd folder = open_beneath(root, path, kOpenFolder);
  if (!folder && errno == ENOSYS) {
    return fail(ErrorCode::kUnsupported, "s3rdma-target needs openat2: Linux 5.6 or later");
  }
  if (!folder) return fail_errno(fmt::format("--root: open {}", path), errno);
  return folder;
}

void sweep(int folder) {
  (void)for_each_entry(folder, [folder](const char* name, unsigned char) {
    ::unlinkat(folder, name, 0);
    return true;
  });
}

}  // namespace

Result<Store> Store::open(const std::string& root) {
  UniqueFd folder(::open(root.c_str(), kOpenFolder | O_CLOEXEC));
  if (!folder && (errno == ENOENT || errno == ENOTDIR)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--root {}: there is no such folder; create it first", root));
  }
  if (!folder) return fail_errno(fmt::format("--root {}", root), errno);
  const std::string internal = kInternalFolder;
  if (auto made = make_internal(folder.get(), internal); !made) {
    return std::unexpected(made.error());
  }
  auto staging = make_internal(folder.get(), internal + "/staging");
  if (!staging) return std::unexpected(staging.error());
  auto uploads = make_internal(folder.get(), internal + "/uploads");
  if (!uploads) return std::unexpected(uploads.error());
  sweep(staging->get());
  return Store(std::move(folder), std::move(*staging), std::move(*uploads));
}

S3Result<std::vector<BucketEntry>> Store::list_buckets() const {
  std::vector<BucketEntry> buckets;
  const int error = for_each_entry(root_.get(), [&](const char* name, unsigned char) {
    struct stat status{};
    if (is_bucket_folder_name(name) &&
        ::fstatat(root_.get(), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(status.st_mode)) {
      buckets.push_back({.name = name, .created = status.st_ctim});
    }
    return true;
  });
  if (error != 0) return refuse_errno("list the buckets", error);
  std::ranges::sort(buckets, {}, &BucketEntry::name);
  return buckets;
}

S3Result<void> Store::create_bucket(const std::string& name) const {
  if (open_bucket(name)) return refuse(kBucketAlreadyOwnedByYou);
  if (!is_new_bucket_name(name)) {
    return refuse(kInvalidBucketName,
                  "A bucket's name has 3 to 63 lower-case letters, digits, \".\" and \"-\".");
  }
  if (::mkdirat(root_.get(), name.c_str(), kBucketMode) != 0) {
    if (errno == EEXIST) return refuse(kBucketAlreadyOwnedByYou);
    return refuse_errno("make the bucket", errno);
  }
  return {};
}

S3Result<void> Store::delete_bucket(const std::string& name) const {
  auto bucket = open_bucket(name);
  if (!bucket) return std::unexpected(std::move(bucket.error()));
  if (contains_key(bucket->folder())) return refuse(kBucketNotEmpty);
  remove_empty_folders(bucket->folder());
  if (::unlinkat(root_.get(), name.c_str(), AT_REMOVEDIR) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST) return refuse(kBucketNotEmpty);
    return refuse_errno("delete the bucket", errno);
  }
  return {};
}

S3Result<Bucket> Store::open_bucket(const std::string& name) const {
  if (!is_bucket_folder_name(name)) return refuse(kNoSuchBucket);
  UniqueFd folder = open_beneath(root_.get(), name, kOpenFolder);
  if (!folder) {
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV) {
      return refuse(kNoSuchBucket);
    }
    return refuse_errno("open the bucket", errno);
  }
  return Bucket(name, std::move(folder));
}

}  // namespace s3rdmafs::target
