// SPDX-License-Identifier: Apache-2.0
// S3's answers in XML, read by pugixml, which expands no DTD or entity. The caller bounds the text.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "s3/object_store.h"
#include "s3/wire/s3_error.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::s3 {

/// A page of ListObjectsV2 has at most 1000 names of 1024 bytes, which encoding-type=url may
/// treble, and some 300 bytes about each: under 4 MiB. Twice that is not a listing.
inline constexpr std::size_t kListTextBytesMax = 8UL * 1024 * 1024;

/// Error documents have a few hundred bytes, answers to uploads some thousand, HTML pages of
/// proxies the same.
inline constexpr std::size_t kErrorTextBytesMax = 64UL * 1024;

/// Reads a ListBucketResult. Names are decoded if the server says that it encoded them; a name that
/// occurs twice is taken once. A time outside the clock's range becomes the nearest one inside.
/// Errors: kProtocol if the text is not such a document, lacks a required element, or has an ETag
/// that cannot be sent in a header (s3/wire/server_text.h).
[[nodiscard]] Result<ListPage> parse_list_page(std::string_view xml);

/// The id out of an InitiateMultipartUploadResult. Errors: kProtocol.
[[nodiscard]] Result<std::string> parse_upload_id(std::string_view xml);

/// A page of ListMultipartUploads.
struct UploadsPage {
  struct Upload {
    std::string key;
    std::string id;
    std::chrono::system_clock::time_point initiated;
  };
  std::vector<Upload> uploads;
  std::string next_key, next_id;  ///< where the next page begins; empty: this was the last
};

/// Reads a ListMultipartUploadsResult; keys as parse_list_page. An upload without a key, an id or a
/// readable time is left out: nothing could be done about it. Errors: kProtocol.
[[nodiscard]] Result<UploadsPage> parse_uploads_page(std::string_view xml);

/// Whether a ListPartsResult has a part. Errors: kProtocol.
[[nodiscard]] Result<bool> parse_has_parts(std::string_view xml);

/// The ETag out of a CompleteMultipartUploadResult. Errors: kProtocol.
[[nodiscard]] Result<std::string> parse_completed_etag(std::string_view xml);

/// The ETag out of a CopyObjectResult or CopyPartResult. Errors: kProtocol.
[[nodiscard]] Result<std::string> parse_copied_etag(std::string_view xml);

/// The whole object's CRC64NVME out of the same document, in base64; empty if there is none.
[[nodiscard]] std::string parse_completed_crc64nvme(std::string_view xml);

/// Never fails, since proxies answer with HTML and HEAD with nothing. Empty if it is not an Error
/// document.
[[nodiscard]] S3Error parse_error(std::string_view xml);

}  // namespace s3rdmafs::s3
