// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "s3/wire/s3_error.h"

namespace s3rdmafs::s3 {

/// Whether one endpoint takes CRC64NVME, learned from its refusals: the checksum (2024) is younger
/// than many servers. Thread-safe.
class ChecksumSupport {
 public:
  [[nodiscard]] bool takes_crc64nvme() const { return takes_it_.load(std::memory_order_relaxed); }

  /// Whether this answer refuses the checksum as such, so that the request should be sent again
  /// without it. Remembers that.
  [[nodiscard]] bool is_refusal(int http_status, const S3Error& error);

 private:
  std::atomic<bool> takes_it_{true};
};

}  // namespace s3rdmafs::s3
