// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "s3/object_store.h"
#include "vfs/metadata/posix_metadata.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

class WrittenFile;

/// When the store was asked: its answer may have become wrong at any time after. Ages count from
/// here, not from the answer, so that no name is believed for longer than its ttl.
using SeenAt = std::chrono::steady_clock::time_point;

/// The meaning of a name: a directory, one version of a file, or a file that is being written.
/// Plain value.
struct Node {
  bool is_directory = false;
  /// Of a directory only `key` is set, to its prefix: empty for a whole bucket, else ending in "/".
  s3::ObjectInfo object;
  /// Of a file that is being written, or was when the kernel came to know it. It is not a version
  /// yet: its ETag is invented, so that no version of the store is the same node.
  std::shared_ptr<WrittenFile> written = {};
  /// Of a version: see Generations. 0 in what the store answers.
  std::uint64_t generation = 0;
  /// Of a version, from its user metadata, which itself is not kept: it may have 8 KiB. Null where
  /// it is not known, as of a listing.
  std::shared_ptr<const PosixAttributes> posix = {};
  /// Any later change of the metadata gives the version another time than `object.modified`.
  bool is_posix_settled = false;
  /// Of a staged file that is not stored any more: it is of no version, and only its handles know
  /// its bytes.
  bool is_given_up = false;

  [[nodiscard]] static Node directory(std::string prefix) {
    return {.is_directory = true,
            .object = {.key = std::move(prefix), .etag = {}, .size_bytes = 0, .modified = {}}};
  }
  [[nodiscard]] static Node file(s3::ObjectInfo object);

  /// Of a link too, whose object may have the bytes and so the ETag of a file.
  [[nodiscard]] bool is_symlink() const { return posix && posix->is_symlink; }

  /// Whether both are the same directory, or the same version of the same file or link.
  [[nodiscard]] bool same_as(const Node& other) const {
    return is_directory == other.is_directory && is_symlink() == other.is_symlink() &&
           object.key == other.object.key && object.etag == other.object.etag &&
           generation == other.generation;
  }
};

/// Whether both are one version that was stored at one time. HeadObject and some listings have the
/// time in seconds, others finer.
[[nodiscard]] bool is_same_store(const s3::ObjectInfo& one, const s3::ObjectInfo& other);

/// The store's answer about one key: a node, or that none exists.
struct NameAnswer {
  std::optional<Node> node;
  SeenAt seen_at;
  bool is_from_store = false;  ///< the lookup had to wait for a request
};

}  // namespace s3rdmafs::vfs
