// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "client/attached_file.h"

namespace s3rdmafs::client {

/// A range of a file at one run of addresses. The bytes stay as they are while this lives.
class Mapping {
 public:
  /// Waits until the bytes are in memory, and maps them; through the mount where that cannot be
  /// had. Null with errno where neither can. The range is in the file, and not empty.
  [[nodiscard]] static std::unique_ptr<Mapping> map(std::shared_ptr<AttachedFile> file,
                                                    std::uint64_t offset_bytes,
                                                    std::uint64_t length_bytes);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] const std::byte* bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool is_past_fuse() const noexcept { return is_pinned_; }

 private:
  Mapping(std::shared_ptr<AttachedFile> file, std::uint64_t offset_bytes,
          std::uint64_t length_bytes)
      : file_(std::move(file)), offset_bytes_(offset_bytes), length_bytes_(length_bytes) {}
  [[nodiscard]] bool map_parts();
  [[nodiscard]] bool map_file();

  const std::shared_ptr<AttachedFile> file_;
  const std::uint64_t offset_bytes_;
  const std::uint64_t length_bytes_;
  bool is_pinned_ = false;
  std::byte* at_ = nullptr;  // the addresses that are taken
  std::uint64_t taken_bytes_ = 0;
  const std::byte* bytes_ = nullptr;
};

}  // namespace s3rdmafs::client
