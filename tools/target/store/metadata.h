// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "s3rdmafs/s3/sigv4.h"
#include "target/s3_error.h"

namespace s3rdmafs::target {

/// The properties of an object besides its bytes.
struct Metadata {
  std::string etag;          ///< without quotes
  s3::NameValues headers;    ///< content-type, cache-control, ..., x-amz-meta-*; lower case
  s3::NameValues checksums;  ///< x-amz-checksum-ALGORITHM, value in base64
  bool checksums_are_composite = false;
  /// Sizes of a multipart upload's parts, empty for a single PUT.
  std::vector<std::uint64_t> part_sizes;
};

/// The identity of an object's file: it tells the file described from another one.
struct FileStamp {
  std::uint64_t size_bytes = 0;
  timespec modified{};

  [[nodiscard]] static FileStamp of(const struct stat& status);
};

/// The text kept in the file's extended attribute, one "name value" line each.
[[nodiscard]] std::string encode_metadata(const Metadata& metadata, const FileStamp& stamp);

/// Nothing if the text is not ours. If the file is no longer the one described (size or time of
/// modification differ), the description of its bytes is left out: ETag, checksums, parts.
[[nodiscard]] std::optional<Metadata> decode_metadata(std::string_view text, const FileStamp& now);

/// The ETag of a file that was not put through this server: changes whenever the file does, and
/// ends in "-1" so that no client takes it for the bytes' MD5.
[[nodiscard]] std::string synthesized_etag(const struct stat& status);

/// Reads the file's extended attribute; the ETag is always set.
[[nodiscard]] Metadata load_metadata(int fd, const struct stat& status);
/// The same by name in a folder, for listings: only the ETag is wanted and the file stays closed.
[[nodiscard]] std::string load_etag(int folder, const std::string& name, const struct stat& status);

/// Attaches metadata to a file, after its last byte was written. On a file system without extended
/// attributes the synthesised ETag is put into `metadata`; user metadata is refused with 501.
[[nodiscard]] S3Result<void> save_metadata(int fd, Metadata& metadata);

/// A folder that was put as "key/" carries the attribute; others exist only for their contents.
[[nodiscard]] bool is_marked_folder(int fd);
[[nodiscard]] S3Result<void> unmark_folder(int fd);

}  // namespace s3rdmafs::target
