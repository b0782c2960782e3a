// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s3/object_store.h"

namespace s3rdmafs::manifest {

/// Bounds of what a manifest can hold. S3's keys have 1,024 bytes at most; other servers allow
/// more.
inline constexpr std::size_t kKeyBytesMax = 4096;
/// As long as an ETag may be that this client keeps (s3/wire/server_text.h).
inline constexpr std::size_t kEtagBytesMax = 1024;

/// One object. Its key has 1..kKeyBytesMax bytes and its ETag 1..kEtagBytesMax; without metadata.
struct Entry {
  s3::ObjectInfo object;
  /// Of the whole object, where it is known: neither listings nor inventories have it.
  std::optional<std::uint64_t> crc64nvme = {};
};

/// The keys that a manifest is of.
struct Origin {
  /// URLs of the servers of the store, each of which serves the same objects.
  std::vector<std::string> endpoints;
  std::string bucket;
  std::string prefix;  ///< empty or ending in "/"
};

}  // namespace s3rdmafs::manifest
