// SPDX-License-Identifier: Apache-2.0
// What a copy costs is the hash, ten times the copy of its bytes where that is an MD5. The source
// was hashed when it was stored. Its description counts only while its file is the one described
// (decode_metadata), so that it can be believed here as a GET believes it.
#include "target/s3/uploads/copied_body.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "s3rdmafs/base/units.h"
#include "target/auth/terms.h"
#include "target/store/copy_bytes.h"

namespace s3rdmafs::target {
namespace {

// Stays in a core's cache between reading, hashing and writing.
constexpr std::size_t kPieceBytes = 256 * kKiB;

/// A checksum of the source's whole content, in base64.
std::optional<std::string> known_checksum(const Metadata& source, ChecksumKind kind) {
  if (source.checksums_are_composite) return std::nullopt;
  for (const auto& [name, value] : source.checksums) {
    if (name == checksum_header(kind)) return value;
  }
  return std::nullopt;
}

/// The ETag of the source's bytes put at once.
std::optional<std::string> known_etag(const Services& services, const Metadata& source) {
  // With a key of the client's, or on a server whose ETags repeat, it says nothing of the bytes.
  const bool says_bytes = encrypted_digest(source.headers, source.etag) == source.etag &&
                          !services.behaviour.has_weak_etags;
  if (services.etags == EtagKind::kMd5) {
    return says_bytes && is_md5_etag(source.etag) ? std::optional(source.etag) : std::nullopt;
  }
  std::optional<std::string> crc;
  if (const auto checksum = known_checksum(source, ChecksumKind::kCrc64Nvme)) {
    crc = from_base64(*checksum);
  } else if (says_bytes) {
    crc = crc64_of_etag(source.etag);
  }
  return crc ? std::optional(crc64_etag(*crc, 1)) : std::nullopt;
}

std::optional<BodySummary> known_summary(const Services& services, const OpenObject& source,
                                         const std::vector<ChecksumKind>& kinds) {
  auto etag = known_etag(services, source.metadata);
  if (!etag) return std::nullopt;
  BodySummary summary{.etag = std::move(*etag), .checksums = {}, .size_bytes = source.size_bytes};
  for (const ChecksumKind kind : kinds) {
    auto checksum = known_checksum(source.metadata, kind);
    if (!checksum) return std::nullopt;
    summary.checksums.emplace_back(checksum_header(kind), std::move(*checksum));
  }
  return summary;
}

S3Result<void> hash_and_copy(int from, const ByteRange& range, UploadBody& body) {
  std::vector<std::byte> piece(std::min<std::uint64_t>(range.length_bytes, kPieceBytes));
  std::uint64_t done_bytes = 0;
  while (done_bytes < range.length_bytes) {
    const std::size_t wanted =
        std::min<std::uint64_t>(piece.size(), range.length_bytes - done_bytes);
    const ssize_t got =
        ::pread(from, piece.data(), wanted, static_cast<off_t>(range.offset_bytes + done_bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return refuse_errno("read the copy's source", got < 0 ? errno : EIO);
    if (auto taken = body.receive(std::span(piece).first(static_cast<std::size_t>(got))); !taken) {
      return taken;
    }
    done_bytes += static_cast<std::uint64_t>(got);
  }
  return {};
}

}  // namespace

S3Result<BodySummary> copy_body(const Services& services, const OpenObject& source,
                                const ByteRange& range, UploadBody& body) {
  if (range.offset_bytes == 0 && range.length_bytes == source.size_bytes) {
    if (auto known = known_summary(services, source, body.kinds())) {
      auto copied = append_range(source.fd.get(), 0, range.length_bytes, body.file().fd());
      if (!copied) return pass_on(copied);
      return std::move(*known);
    }
  }
  if (auto copied = hash_and_copy(source.fd.get(), range, body); !copied) return pass_on(copied);
  return body.finish(Request{}, {});
}

}  // namespace s3rdmafs::target
