// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace s3rdmafs::s3 {

/// The names of the answer's headers about RDMA, in lower case (rdma.reply_header and
/// rdma.bytes_header). Some servers have names of their own.
struct RdmaHeaderNames {
  std::string reply = "x-amz-rdma-reply";
  std::string bytes = "x-amz-rdma-bytes-transferred";
};

/// The headers of an answer that the client uses. Others are not kept.
struct ResponseHeaders {
  std::string etag;  ///< quotes included
  std::string request_id;
  std::string version_id;  ///< of a bucket with versioning
  std::string content_range;
  std::optional<std::uint64_t> content_length;
  std::optional<std::chrono::system_clock::time_point> last_modified;
  std::optional<std::chrono::system_clock::time_point> date;  ///< the server's clock
  /// As received, without white space around it. Repeated headers are joined by ", ", which no rule
  /// accepts as success.
  std::optional<std::string> rdma_reply;
  std::optional<std::string> rdma_bytes_transferred;
  // Of the object, base64; empty if the server has none of that kind.
  std::string checksum_crc64nvme;
  std::string checksum_crc32c;
  std::string checksum_other;  ///< "kind:value" of another kind, for people only
  std::string checksum_type;   ///< "COMPOSITE": of the parts' checksums, not of the bytes
  /// The name of one of these headers whose value was dropped because it has control characters or
  /// is too long (s3/wire/server_text.h). Empty: there is none.
  std::string unusable;
  /// User metadata: names in lower case without their prefix, values as received. The first of a
  /// name. Values with control characters are left out, and what exceeds kMetadataBytesMax in all.
  std::vector<std::pair<std::string, std::string>> user_metadata;
  /// See s3/wire/stored_headers.h. Values with control characters are left out, and what exceeds
  /// kMetadataBytesMax in all.
  std::vector<std::pair<std::string, std::string>> stored;
  std::optional<std::chrono::seconds> retry_after;  ///< only the form in seconds (RFC 9110 10.2.3)

  /// Takes one line as received. Ignores unknown headers and values that it cannot read.
  void add_line(std::string_view line, const RdmaHeaderNames& names);

 private:
  void add_user_metadata(std::string_view name, std::string_view value);
  void add_stored(std::string_view name, std::string_view value);
};

/// Whether two ETags name the same version. Some servers omit the quotes in some answers only.
[[nodiscard]] bool is_same_etag(std::string_view one, std::string_view other);
/// The ETag as a condition names it (RFC 9110 section 8.8.3): with the quotes that listings and
/// other documents may lack. Servers that compare the text would not find the version otherwise.
[[nodiscard]] std::string quoted_etag(std::string_view etag);

/// The "bytes a-b/total" of RFC 9110 section 14.4.
struct ContentRange {
  std::uint64_t first = 0;                  ///< offset of the first byte
  std::uint64_t last = 0;                   ///< offset of the last byte itself
  std::optional<std::uint64_t> total = {};  ///< the whole object's length; nothing for "*"
};
/// Nothing if the text has another form, such as "bytes */n".
[[nodiscard]] std::optional<ContentRange> parse_content_range(std::string_view text);

}  // namespace s3rdmafs::s3
