// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "s3/endpoints/endpoint.h"
#include "s3/wire/http_message.h"
#include "s3/wire/s3_error.h"
#include "s3rdmafs/s3/sigv4.h"

namespace s3rdmafs::s3 {

/// 128 random bits in hex: names one rename, so that a server which has made it answers a
/// repetition with success and does nothing (x-amz-client-token, at most 64 characters).
[[nodiscard]] std::string new_client_token();

/// RenameObject: the server gives the object of `source` the key `key`.
/// Source: Amazon S3 API reference, "RenameObject"; SeaweedFS, weed/s3api (August 2026).
/// @param more  conditions of both keys
[[nodiscard]] Result<HttpRequest> build_rename(Endpoint& endpoint, std::string_view source,
                                               std::string_view key,
                                               const std::string& client_token, NameValues more);

/// Whether an answer refuses the operation as such, or for these keys or this bucket: it says
/// nothing of the object, of conditions, of the sender's rights or of the server's health.
[[nodiscard]] bool refuses_rename(int http_status, const S3Error& error);

}  // namespace s3rdmafs::s3
