// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "s3rdmafs/s3/sigv4.h"
#include "target/auth/keys.h"
#include "target/http/message.h"
#include "target/s3_error.h"

namespace s3rdmafs::target {

/// The keys and texts that sign the chunks of an aws-chunked body.
struct ChunkSigning {
  s3::SigningKey key{};
  s3::SigningScope scope;
  std::string amz_date;
  std::string seed_signature;
};

/// The sender of a request, and the form of body that its signature covers.
struct Caller {
  bool is_anonymous = false;
  /// SHA-256 in hex, UNSIGNED-PAYLOAD or STREAMING-...; as in x-amz-content-sha256.
  std::string payload_hash = std::string(s3::kUnsignedPayload);
  ChunkSigning chunk_signing;
  std::set<std::string> signed_headers;  ///< lower case
};

struct VerifyRules {
  const Keys* keys;    ///< borrowed
  std::string region;  ///< empty: any
};

/// Checks Signature Version 4 in the Authorization header or in a presigned address. A request with
/// neither is anonymous, which the caller may or may not allow.
///
/// Errors: kAccessDenied (also an expired presigned address, and an x-amz- header that is not
/// signed, x-amz-content-sha256 apart), kAuthorizationHeaderMalformed, kInvalidAccessKeyId,
/// kRequestTimeTooSkewed, kSignatureDoesNotMatch, kInvalidRequest.
[[nodiscard]] S3Result<Caller> verify(const Request& request, const VerifyRules& rules,
                                      std::chrono::system_clock::time_point now);

}  // namespace s3rdmafs::target
