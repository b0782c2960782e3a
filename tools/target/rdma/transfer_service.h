// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::target {

/// The server side of RDMA: moves bytes between files and the memory a client's token names.
///
/// Errors of all: kInvalidArgument where the token is malformed, unknown, of the wrong direction or
/// reaches outside the registered memory: then no byte was touched, and the answer is HTTP 400
/// InvalidRDMAToken. kUnsupported where this server does not move bytes that way: HTTP 501
/// NotImplemented. Anything else is HTTP 500 RDMATransferFailed. Thread-safe; blocks for the
/// copy.
class TransferService {
 public:
  virtual ~TransferService() = default;

  /// Whether tokens of this form are served here at all; others are declined.
  [[nodiscard]] virtual bool serves(std::string_view /*token*/) const { return true; }

  /// Whether bytes are moved at all. False: transfers by this token are checked and succeed, and
  /// memory and files keep the bytes that they have (--dma none).
  [[nodiscard]] virtual bool moves_bytes(std::string_view /*token*/) const { return true; }

  /// Bytes the token's window holds.
  [[nodiscard]] virtual Result<std::uint64_t> window_size(std::string_view token) = 0;

  /// GET: copies [file_offset, file_offset + length) of `fd` to the window's front.
  /// @param length  at most window_size(token)
  [[nodiscard]] Result<void> write_window(std::string_view token, int fd, std::uint64_t file_offset,
                                          std::uint64_t length) {
    return write_part(token, /*window_offset=*/0, fd, file_offset, length);
  }

  /// The same for one of several writers: to the window's part from `window_offset` on.
  /// @param length  at most window_size(token) - window_offset
  [[nodiscard]] virtual Result<void> write_part(std::string_view token, std::uint64_t window_offset,
                                                int fd, std::uint64_t file_offset,
                                                std::uint64_t length) = 0;

  /// PUT: copies the window's first `length` bytes into `fd` at `file_offset`. The file has that
  /// length also where no bytes are moved.
  [[nodiscard]] virtual Result<void> read_window(std::string_view token, int fd,
                                                 std::uint64_t file_offset,
                                                 std::uint64_t length) = 0;
};

}  // namespace s3rdmafs::target
