// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "s3/object_store.h"

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
  /// Of a staged file that is not stored any more: it is of no version, and only its handles know
  /// its bytes.
  bool is_given_up = false;

  [[nodiscard]] static Node directory(std::string prefix) {
    return {.is_directory = true,
            .object = {.key = std::move(prefix), .etag = {}, .size_bytes = 0, .modified = {}}};
  }
  /// Without the headers that the server keeps, for which no name has a use.
  [[nodiscard]] static Node file(s3::ObjectInfo object) {
    object.headers = nullptr;
    return {.is_directory = false, .object = std::move(object)};
  }

  /// Whether both are the same directory, or the same version of the same file.
  [[nodiscard]] bool same_as(const Node& other) const {
    return is_directory == other.is_directory && object.key == other.object.key &&
           object.etag == other.object.etag && generation == other.generation;
  }
};

/// Whether both are one version that was stored at one time. Listings have the time in milliseconds
/// or finer, HeadObject in seconds.
[[nodiscard]] inline bool is_same_store(const s3::ObjectInfo& one, const s3::ObjectInfo& other) {
  using std::chrono::floor;
  using std::chrono::seconds;
  return one.etag == other.etag && floor<seconds>(one.modified) == floor<seconds>(other.modified);
}

/// The store's answer about one key: a node, or that none exists.
struct NameAnswer {
  std::optional<Node> node;
  SeenAt seen_at;
  bool is_from_store = false;  ///< the lookup had to wait for a request
};

}  // namespace s3rdmafs::vfs
