// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/checksum_support.h"

#include <string>

#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {

bool ChecksumSupport::is_refusal(int http_status, const S3Error& error) {
  if (!takes_crc64nvme() || is_checksum_mismatch(error)) return false;
  if (http_status != 400 && http_status != 501) return false;
  // The servers' codes differ, but all name the unknown header in the text.
  const std::string text = ascii_lower(error.code + " " + error.message);
  if (text.find("crc64nvme") == std::string::npos && text.find("checksum") == std::string::npos) {
    return false;
  }
  takes_it_.store(false, std::memory_order_relaxed);
  log::warn(
      "server refused the CRC64NVME checksum: {}; uploads go on without it, and the server cannot "
      "verify them",
      error.message.empty() ? error.code : error.message);
  return true;
}

}  // namespace s3rdmafs::s3
