// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "target/behaviour/behaviour.h"
#include "target/http/message.h"
#include "target/s3_error.h"

namespace s3rdmafs::target {

/// Whether an entity-tag list ("*", `"a", "b"`) names this ETag.
[[nodiscard]] bool etag_list_matches(std::string_view list, std::string_view etag);

/// Checks If-Match, If-Unmodified-Since, If-None-Match, If-Modified-Since in the order of RFC 9110
/// section 13.2.2. `header_prefix` is "" for reads, "x-amz-copy-source-" for a copy's source,
/// "x-amz-rename-source-" for a rename's.
/// Errors: kPreconditionFailed, or kNotModified (reads only) with the ETag along.
[[nodiscard]] S3Result<void> check_conditions(const Request& request,
                                              std::string_view header_prefix, std::string_view etag,
                                              std::time_t modified);

/// The conditions of a request that changes a key, as far as this server compares them.
struct WriteConditions {
  std::optional<std::string> if_match;  ///< an entity-tag list
  bool only_if_absent = false;          ///< If-None-Match: *
};

enum class KeyChange { kPut, kCopy, kDelete };

/// Errors: kNotImplemented where the server refuses a condition, or for another If-None-Match.
[[nodiscard]] S3Result<WriteConditions> write_conditions(const Behaviour& behaviour,
                                                         const Request& request, KeyChange change);

}  // namespace s3rdmafs::target
