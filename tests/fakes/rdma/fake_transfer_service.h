// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <map>
#include <string>
#include <string_view>

#include "target/rdma/transfer_service.h"

namespace s3rdmafs::fakes {

/// A client's memory as strings, one window by token. Used by one thread.
class FakeTransferService final : public target::TransferService {
 public:
  std::map<std::string, std::string, std::less<>> windows;
  bool fail_transfers = false;
  int transfers = 0;  ///< that were tried

  Result<std::uint64_t> window_size(std::string_view token) override {
    const auto window = windows.find(token);
    if (window == windows.end()) return fail(ErrorCode::kInvalidArgument, "no such window");
    return window->second.size();
  }

  Result<void> write_part(std::string_view token, std::uint64_t window_offset, int fd,
                          std::uint64_t file_offset, std::uint64_t length) override {
    ++transfers;
    if (fail_transfers) return fail(ErrorCode::kSystem, "the transfer failed");
    std::string& window = windows.find(token)->second;
    if (::pread(fd, window.data() + window_offset, length, static_cast<off_t>(file_offset)) !=
        static_cast<ssize_t>(length)) {
      return fail(ErrorCode::kSystem, "the file is too short");
    }
    return {};
  }

  Result<void> read_window(std::string_view token, int fd, std::uint64_t file_offset,
                           std::uint64_t length) override {
    ++transfers;
    if (fail_transfers) return fail(ErrorCode::kSystem, "the transfer failed");
    const std::string& window = windows.find(token)->second;
    if (::pwrite(fd, window.data(), length, static_cast<off_t>(file_offset)) !=
        static_cast<ssize_t>(length)) {
      return fail(ErrorCode::kSystem, "the file could not be written");
    }
    return {};
  }
};

}  // namespace s3rdmafs::fakes
