// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "manifest/block.h"
#include "manifest/entry.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::manifest {

/// Writes one manifest, entry after entry in ascending order of keys, in the memory of one block.
/// A file with a name appears under it when it is finished, whole, in place of an older one; until
/// then it is FILE.partial. Not thread-safe.
class Writer {
 public:
  /// Errors: kBusy (another process writes it), kSystem.
  [[nodiscard]] static Result<Writer> create(const std::string& path);
  /// A file without a name, for entries that are read again by this process.
  /// @param folder  of the disk that it takes its room from. Errors: kSystem.
  [[nodiscard]] static Result<Writer> create_unnamed(const std::string& folder);

  Writer(Writer&& other) noexcept = default;
  Writer& operator=(Writer&&) = delete;
  /// Removes the file if it was not finished.
  ~Writer();

  /// Errors: kInvalidArgument (check_entry, or the key does not follow the last), kSystem.
  [[nodiscard]] Result<void> add(const Entry& entry);

  /// Writes the rest, makes it durable and gives it its name. Once.
  /// @return the file, to be read. Errors: kInvalidArgument (texts of `origin`), kSystem.
  [[nodiscard]] Result<UniqueFd> finish(Origin origin, std::chrono::system_clock::time_point now);

  [[nodiscard]] std::uint64_t objects() const { return objects_; }
  [[nodiscard]] std::uint64_t object_bytes() const { return object_bytes_; }

 private:
  Writer(UniqueFd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  [[nodiscard]] Result<void> write_block();
  [[nodiscard]] Result<void> give_name();

  UniqueFd file_;     ///< empty: finished, or moved from
  std::string path_;  ///< empty: without a name
  std::unique_ptr<BlockBuilder> block_ = std::make_unique<BlockBuilder>();
  std::string last_key_;
  std::uint64_t blocks_ = 0;
  std::uint64_t objects_ = 0;
  std::uint64_t object_bytes_ = 0;
  std::uint64_t checksum_ = 0;
};

}  // namespace s3rdmafs::manifest
