// SPDX-License-Identifier: Apache-2.0
// AWS Signature Version 4: which text is signed and with which key. The client signs with it
// (src/s3), and the embedded target verifies with it (tools/target).
//
// Source: AWS "Signature Version 4 signing process" (canonical request, string to sign, signing
// key); checked against AWS's published test vectors in tests/unit/s3/sigv4_test.cc.
//
// All functions are reentrant and never fail on well-formed text.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace s3rdmafs::s3 {

/// Names and values in the order in which they are sent.
using NameValues = std::vector<std::pair<std::string, std::string>>;

/// The payload hash for a body that the signature does not cover. Every RDMA request signs this
/// (s3rdmafs-protocol(7)).
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

/// Where a signature is valid: one day, one region, one service.
struct SigningScope {
  std::string date;  ///< YYYYMMDD, UTC
  std::string region;
  std::string service = "s3";

  /// "20130524/us-east-1/s3/aws4_request".
  [[nodiscard]] std::string to_string() const;
};

/// The parts of a request that a signature covers.
struct SignedRequest {
  std::string method;  ///< upper case
  /// As sent, with its "/". S3 signs the path encoded once and not normalised.
  std::string encoded_path;
  NameValues query;          ///< decoded names and values, without X-Amz-Signature; any order
  NameValues headers;        ///< every signed header; any order and case; values as sent
  std::string payload_hash;  ///< lower-case hex SHA-256, kUnsignedPayload or STREAMING-...
};

/// "host;range;x-amz-date": the signed headers' names as Authorization lists them.
[[nodiscard]] std::string signed_header_names(const SignedRequest& request);

[[nodiscard]] std::string canonical_request(const SignedRequest& request);

/// The time as x-amz-date has it: YYYYMMDD'T'HHMMSS'Z'.
[[nodiscard]] std::string amz_date(std::chrono::system_clock::time_point time);

/// `amz_date` is YYYYMMDD'T'HHMMSS'Z'.
[[nodiscard]] std::string string_to_sign(std::string_view amz_date, const SigningScope& scope,
                                         std::string_view canonical_request);

using SigningKey = std::array<std::byte, 32>;

/// Valid for a whole day and scope, so callers may keep it.
[[nodiscard]] SigningKey signing_key(std::string_view secret_access_key, const SigningScope& scope);

/// Lower-case hex HMAC-SHA256 of any string to sign, also of chunk signatures.
[[nodiscard]] std::string signature(const SigningKey& key, std::string_view string_to_sign);

/// The value of the Authorization header of a request that is signed with the key of this scope.
[[nodiscard]] std::string authorization(const SignedRequest& request,
                                        std::string_view access_key_id, const SigningKey& key,
                                        std::string_view amz_date, const SigningScope& scope);

/// Lower-case hex SHA-256.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace s3rdmafs::s3
