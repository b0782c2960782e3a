// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "target/auth/verify.h"
#include "target/digest/digests.h"
#include "target/s3_error.h"

namespace s3rdmafs::target {

/// Takes the bytes that came over HTTP, hands on those that are the object's, and checks that they
/// are what was signed. Used by one thread.
class PayloadDecoder {
 public:
  using Sink = std::function<S3Result<void>(std::span<const std::byte>)>;

  virtual ~PayloadDecoder() = default;
  /// Decodes a piece. Bytes given to `sink` count only once finish() has succeeded.
  [[nodiscard]] virtual S3Result<void> receive(std::span<const std::byte> bytes,
                                               const Sink& sink) = 0;
  /// The body has ended. Errors: kContentSha256Mismatch, kIncompleteBody, kSignatureDoesNotMatch.
  [[nodiscard]] virtual S3Result<void> finish() = 0;
  /// Headers that followed the body, names in lower case.
  [[nodiscard]] virtual const NameValues& trailers() const = 0;
};

/// The decoder for the form of body that x-amz-content-sha256 names.
/// Errors: kInvalidRequest for a form that is not known.
[[nodiscard]] S3Result<std::unique_ptr<PayloadDecoder>> make_payload_decoder(const Request& request,
                                                                             const Caller& caller);

}  // namespace s3rdmafs::target
