// SPDX-License-Identifier: Apache-2.0
// S3's answers in XML, by pugixml: no DTD or entity is ever expanded, and the caller bounds the
// text.
#pragma once

#include <string>
#include <string_view>

#include "s3/object_store.h"
#include "s3/wire/s3_error.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::s3 {

/// A page of ListObjectsV2 is at most 1000 names of 1024 bytes, each of which encoding-type=url may
/// treble, and some 300 bytes about each: under 4 MiB. Twice that is no listing any more.
inline constexpr std::size_t kListTextBytesMax = 8UL * 1024 * 1024;

/// Error documents are a few hundred bytes, the answers of uploads some thousand, proxies' pages of
/// HTML the same.
inline constexpr std::size_t kErrorTextBytesMax = 64UL * 1024;

/// Reads a ListBucketResult. Names are decoded if the server says that it encoded them; one that is
/// there twice is taken once. Times that no clock here can hold become the nearest that it can.
/// Errors: kProtocol for what is no such document, lacks what a listing cannot do without, or has
/// an
///         ETag that could be no header's value (s3/wire/server_text.h).
[[nodiscard]] Result<ListPage> parse_list_page(std::string_view xml);

/// The id out of an InitiateMultipartUploadResult. Errors: kProtocol.
[[nodiscard]] Result<std::string> parse_upload_id(std::string_view xml);

/// The ETag out of a CompleteMultipartUploadResult. Errors: kProtocol.
[[nodiscard]] Result<std::string> parse_completed_etag(std::string_view xml);

/// The whole object's CRC64NVME out of the same document, in base64; empty where there is none.
[[nodiscard]] std::string parse_completed_crc64nvme(std::string_view xml);

/// Never fails: proxies answer with HTML, HEAD with nothing.
[[nodiscard]] S3Error parse_error(std::string_view xml);

}  // namespace s3rdmafs::s3
