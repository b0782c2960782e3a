// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::target {

/// The server side of RDMA: moves bytes between files and the memory a client's token names.
class TransferService {
 public:
  virtual ~TransferService() = default;

  /// Bytes the token's window holds.
  /// Errors: kInvalidArgument (malformed, unknown, not this service's), -> HTTP 400
  /// InvalidRDMAToken.
  virtual Result<std::uint64_t> window_size(std::string_view token) = 0;

  /// GET: copies [file_offset, file_offset+length) of `fd` to the window's front. length <= window
  /// size.
  virtual Result<void> write_window(std::string_view token, int fd, std::uint64_t file_offset,
                                    std::uint64_t length) = 0;

  /// PUT: copies the window's first `length` bytes into `fd` at file_offset.
  virtual Result<void> read_window(std::string_view token, int fd, std::uint64_t file_offset,
                                   std::uint64_t length) = 0;
};

}  // namespace s3rdmafs::target
