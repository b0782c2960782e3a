// SPDX-License-Identifier: Apache-2.0
// The half of metadata.h that touches extended attributes.
#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "target/store/metadata.h"

namespace s3rdmafs::target {
namespace {

constexpr const char* kAttribute = "user.s3rdma-target";
// XATTR_SIZE_MAX of the kernel: no attribute is larger.
constexpr std::size_t kAttributeMaxBytes = 64 * kKiB;

template <class ReadAttribute>
std::optional<Metadata> read_and_decode(const struct stat& status, ReadAttribute read) {
  // Most fit into 4 KiB (the limit of ext4), so one system call is the rule.
  std::array<char, 4096> small;
  ssize_t length = read(small.data(), small.size());
  if (length >= 0) {
    return decode_metadata({small.data(), static_cast<std::size_t>(length)}, FileStamp::of(status));
  }
  if (errno != ERANGE) return std::nullopt;
  std::string large(kAttributeMaxBytes, '\0');
  length = read(large.data(), large.size());
  if (length < 0) return std::nullopt;
  large.resize(static_cast<std::size_t>(length));
  return decode_metadata(large, FileStamp::of(status));
}

/// A folder's size and times change with its contents; its mark does not.
struct stat folder_identity(struct stat status) {
  status.st_size = 0;
  status.st_mtim = {};
  return status;
}

}  // namespace

Metadata load_metadata(int fd, const struct stat& file_status) {
  const struct stat status =
      S_ISDIR(file_status.st_mode) ? folder_identity(file_status) : file_status;
  auto metadata = read_and_decode(status, [fd](char* data, std::size_t size) {
    return ::fgetxattr(fd, kAttribute, data, size);
  });
  if (!metadata) metadata.emplace();
  if (metadata->etag.empty()) metadata->etag = synthesized_etag(status);
  return std::move(*metadata);
}

std::string load_etag(int folder, const std::string& name, const struct stat& status) {
  const std::string path = fmt::format("/proc/self/fd/{}/{}", folder, name);
  auto metadata = read_and_decode(status, [&path](char* data, std::size_t size) {
    return ::lgetxattr(path.c_str(), kAttribute, data, size);
  });
  if (!metadata || metadata->etag.empty()) return synthesized_etag(status);
  return std::move(metadata->etag);
}

S3Result<void> save_metadata(int fd, Metadata& metadata) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return refuse_errno("fstat", errno);
  const bool is_folder = S_ISDIR(status.st_mode);
  if (is_folder) status = folder_identity(status);
  std::string text = encode_metadata(metadata, FileStamp::of(status));
  if (::fsetxattr(fd, kAttribute, text.data(), text.size(), 0) == 0) return {};
  if (!metadata.part_sizes.empty() && (errno == ENOSPC || errno == E2BIG || errno == ERANGE)) {
    // Parts of many different sizes may not fit; without them only GET by partNumber is lost.
    Metadata shorter = metadata;
    shorter.part_sizes.clear();
    text = encode_metadata(shorter, FileStamp::of(status));
    if (::fsetxattr(fd, kAttribute, text.data(), text.size(), 0) == 0) return {};
  }
  if (errno != ENOTSUP && errno != ENOSPC && errno != E2BIG && errno != ERANGE) {
    return refuse_errno("fsetxattr", errno);
  }
  const bool has_user_metadata = [&] {
    for (const auto& [name, value] : metadata.headers) {
      if (name.starts_with("x-amz-meta-")) return true;
    }
    return false;
  }();
  if (has_user_metadata || is_folder) {
    return refuse(kNotImplemented,
                  "The server's file system cannot keep this metadata (no extended attributes, or "
                  "too little room in them).");
  }
  metadata.etag = synthesized_etag(status);
  return {};
}

bool is_marked_folder(int fd) { return ::fgetxattr(fd, kAttribute, nullptr, 0) >= 0; }

S3Result<void> unmark_folder(int fd) {
  if (::fremovexattr(fd, kAttribute) != 0 && errno != ENODATA && errno != ENOTSUP) {
    return refuse_errno("fremovexattr", errno);
  }
  return {};
}

}  // namespace s3rdmafs::target
