// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace s3rdmafs::target {

/// The digest that ETags of objects and parts are made of (--etag).
enum class EtagKind {
  kMd5,    ///< as many clients expect of an object that was not put in parts
  kCrc64,  ///< CRC64NVME of all bytes, of which a processor computes ten times as many a second
};

/// A part of an object, as far as the object's ETag is made of it.
struct EtagPart {
  std::string etag;
  std::uint64_t size_bytes = 0;
};

/// The ETag that says a CRC64NVME: 16 hexadecimal digits, "-" and the number of parts, 1 for bytes
/// that were put at once. No client takes that for an MD5.
/// @param raw_crc  8 bytes, as Checksum::finish() gives them
[[nodiscard]] std::string crc64_etag(std::string_view raw_crc, std::size_t parts);

/// The CRC64NVME, raw, that such an ETag says. Nothing for any other ETag.
[[nodiscard]] std::optional<std::string> crc64_of_etag(std::string_view etag);

/// Whether an ETag has the form of an MD5.
[[nodiscard]] bool is_md5_etag(std::string_view etag);

/// The ETag of an object of these parts: of kMd5 as S3 makes it, of kCrc64 that of the joined
/// bytes; as of kMd5 too where the ETag of a part says no CRC (it came before a restart with
/// another --etag).
[[nodiscard]] std::string multipart_etag(EtagKind kind, const std::vector<EtagPart>& parts);

}  // namespace s3rdmafs::target
