// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "target/http/message.h"
#include "target/s3_error.h"

namespace s3rdmafs::target {

/// Whether an entity-tag list ("*", `"a", "b"`) names this ETag.
[[nodiscard]] bool etag_list_matches(std::string_view list, std::string_view etag);

/// Checks If-Match, If-Unmodified-Since, If-None-Match, If-Modified-Since in the order of RFC 9110
/// section 13.2.2. `header_prefix` is "" for reads, "x-amz-copy-source-" for a copy's source.
/// Errors: kPreconditionFailed, or kNotModified (reads only) with the ETag along.
[[nodiscard]] S3Result<void> check_conditions(const Request& request,
                                              std::string_view header_prefix, std::string_view etag,
                                              std::time_t modified);

}  // namespace s3rdmafs::target
