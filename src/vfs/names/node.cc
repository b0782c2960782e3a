// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/node.h"

#include <chrono>

namespace s3rdmafs::vfs {

// A server that changes the metadata of a version gives it the time of the change, in seconds at
// worst. So the metadata is that of this time for good where the server answered in a later second.
Node Node::file(s3::ObjectInfo object) {
  using std::chrono::floor;
  using std::chrono::seconds;
  Node node{.is_directory = false, .object = std::move(object)};
  if (node.object.metadata) {
    node.posix = std::make_shared<const PosixAttributes>(
        posix_attributes(*node.object.metadata, node.object.size_bytes));
    node.is_posix_settled =
        floor<seconds>(node.object.answered_at) > floor<seconds>(node.object.modified);
  }
  node.object.metadata = nullptr;
  node.object.headers = nullptr;
  return node;
}

bool is_same_store(const s3::ObjectInfo& one, const s3::ObjectInfo& other) {
  using std::chrono::floor;
  using std::chrono::seconds;
  const auto second = floor<seconds>(one.modified);
  const bool is_rounded =
      one.modified == second || other.modified == floor<seconds>(other.modified);
  const bool is_same_time =
      is_rounded ? second == floor<seconds>(other.modified) : one.modified == other.modified;
  return one.etag == other.etag && is_same_time;
}

}  // namespace s3rdmafs::vfs
