// SPDX-License-Identifier: Apache-2.0
// User metadata as headers: "x-amz-meta-NAME: VALUE". A header is a line of printable ASCII, so any
// other value is sent as an encoded word of RFC 2047, as Amazon S3 itself sends such values back.
#pragma once

#include <string>
#include <string_view>

#include "s3/object_store.h"
#include "s3/wire/response_headers.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/s3/sigv4.h"

namespace s3rdmafs::s3 {

/// Stands before the names in headers.
inline constexpr std::string_view kMetadataPrefix = "x-amz-meta-";

/// The most user metadata that is kept of one answer. Amazon S3 allows 2 KiB, some servers 8.
inline constexpr std::size_t kMetadataBytesMax = 8192;

/// Errors: kInvalidArgument for a name that no header can have: other characters than lower-case
/// letters, digits and "!#$%&'*+-.^_`|~" (RFC 9110 section 5.6.2). Every value can be sent.
[[nodiscard]] Result<void> check_user_metadata(const UserMetadata& metadata);

/// Appends the headers. The metadata was checked.
void add_user_metadata(NameValues& headers, const UserMetadata& metadata);

/// A value as a header has it: unchanged if it is plain, else "=?UTF-8?B?...?=".
[[nodiscard]] std::string metadata_header(std::string_view value);

/// The value that a header means. Encoded words of UTF-8 are decoded; any other text is returned
/// unchanged.
[[nodiscard]] std::string metadata_value(std::string_view header);

/// The user metadata of an answer, decoded.
[[nodiscard]] UserMetadata user_metadata_of(const ResponseHeaders& headers);

/// Whether an answer has each of these names, with this value.
[[nodiscard]] bool has_user_metadata(const ResponseHeaders& headers, const UserMetadata& metadata);

}  // namespace s3rdmafs::s3
