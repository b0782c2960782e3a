// SPDX-License-Identifier: Apache-2.0
#include "s3/object_writer.h"

namespace s3rdmafs::s3 {

std::chrono::seconds assembly_time(const std::vector<UploadedPart>& parts) {
  constexpr std::uint64_t kBytesASecond = 32ULL << 20;
  std::uint64_t bytes = 0;
  for (const UploadedPart& part : parts) bytes += part.size_bytes;
  return std::chrono::seconds(bytes / kBytesASecond);
}

}  // namespace s3rdmafs::s3
