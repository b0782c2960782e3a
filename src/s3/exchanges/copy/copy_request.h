// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "s3/endpoints/endpoint.h"
#include "s3/object_writer.h"
#include "s3/wire/http_message.h"
#include "s3/wire/s3_error.h"
#include "s3rdmafs/s3/sigv4.h"

namespace s3rdmafs::s3 {

/// The headers that name the source and its version.
[[nodiscard]] NameValues copy_source_headers(const Endpoint& endpoint, const CopySource& source);

/// A PUT whose bytes the server copies, not yet addressed to a key. It is sent once at a time, and
/// the server gets the time that so many bytes take.
void finish_copy_request(HttpRequest& request, std::uint64_t length_bytes);

/// The error in an answer to a copy: a server may report one after it has answered HTTP 200. Empty:
/// there is none.
[[nodiscard]] S3Error copy_error(const HttpResponse& response);

/// Whether an answer means that the server does not copy.
[[nodiscard]] bool is_copy_unsupported(const HttpResponse& response, const S3Error& error);

}  // namespace s3rdmafs::s3
