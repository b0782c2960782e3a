// SPDX-License-Identifier: Apache-2.0
#include "s3/object_writer.h"

namespace s3rdmafs::s3 {

std::chrono::seconds copy_time(std::uint64_t size_bytes) {
  constexpr std::uint64_t kBytesASecond = 32ULL << 20;
  return std::chrono::seconds(size_bytes / kBytesASecond);
}

std::chrono::seconds assembly_time(const std::vector<UploadedPart>& parts) {
  std::uint64_t bytes = 0;
  for (const UploadedPart& part : parts) bytes += part.size_bytes;
  return copy_time(bytes);
}

}  // namespace s3rdmafs::s3
