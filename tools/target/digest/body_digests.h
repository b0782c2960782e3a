// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "target/digest/digests.h"
#include "target/digest/etag.h"

namespace s3rdmafs::target {

/// The results of BodyDigests.
struct FoundDigests {
  std::string etag;  ///< of these bytes put at once
  std::string md5;   ///< raw; empty unless it was computed
  std::vector<std::pair<ChecksumKind, std::string>> checksums;  ///< raw, of the kinds asked for
};

/// All that is computed of one body as it comes: each hash once, and none that is not needed.
class BodyDigests {
 public:
  /// @param needs_md5  also where ETags are of another kind
  BodyDigests(EtagKind etags, bool needs_md5, const std::vector<ChecksumKind>& kinds);
  void update(std::span<const std::byte> bytes);
  /// Call once, last.
  [[nodiscard]] FoundDigests finish();

 private:
  std::optional<Hash> md5_;
  std::vector<Checksum> checksums_;
  std::optional<Checksum> etag_crc_;  // where the ETag alone needs it
  EtagKind etags_;
};

}  // namespace s3rdmafs::target
