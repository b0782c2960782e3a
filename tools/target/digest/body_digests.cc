// SPDX-License-Identifier: Apache-2.0
#include "target/digest/body_digests.h"

#include <algorithm>

namespace s3rdmafs::target {

BodyDigests::BodyDigests(EtagKind etags, bool needs_md5, const std::vector<ChecksumKind>& kinds)
    : etags_(etags) {
  for (const ChecksumKind kind : kinds) checksums_.emplace_back(kind);
  if (etags == EtagKind::kMd5 || needs_md5) md5_.emplace(Hash::Kind::kMd5);
  if (etags == EtagKind::kCrc64 &&
      std::ranges::find(kinds, ChecksumKind::kCrc64Nvme) == kinds.end()) {
    etag_crc_.emplace(ChecksumKind::kCrc64Nvme);
  }
}

void BodyDigests::update(std::span<const std::byte> bytes) {
  if (md5_) md5_->update(bytes);
  for (Checksum& checksum : checksums_) checksum.update(bytes);
  if (etag_crc_) etag_crc_->update(bytes);
}

FoundDigests BodyDigests::finish() {
  FoundDigests found;
  if (md5_) found.md5 = md5_->finish();
  for (Checksum& checksum : checksums_) {
    found.checksums.emplace_back(checksum.kind(), checksum.finish());
  }
  if (etags_ == EtagKind::kMd5) {
    found.etag = to_hex(found.md5);
  } else if (etag_crc_) {
    found.etag = crc64_etag(etag_crc_->finish(), 1);
  } else {
    const auto crc = std::ranges::find(found.checksums, ChecksumKind::kCrc64Nvme,
                                       &std::pair<ChecksumKind, std::string>::first);
    found.etag = crc64_etag(crc->second, 1);
  }
  return found;
}

}  // namespace s3rdmafs::target
