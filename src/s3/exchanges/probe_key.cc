// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/probe_key.h"

#include <cstdint>
#include <random>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {

std::string probe_key(const std::string& key) {
  std::random_device random;
  const std::uint64_t number = (static_cast<std::uint64_t>(random()) << 32U) | random();
  const std::size_t slash = key.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : key.substr(0, slash + 1);
  return fmt::format("{}.s3rdmafs-probe-{:016x}", folder, number);
}

}  // namespace s3rdmafs::s3
