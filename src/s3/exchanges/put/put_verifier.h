// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "s3/endpoints/endpoint.h"
#include "s3/object_writer.h"
#include "s3/wire/http_message.h"

namespace s3rdmafs::s3 {

/// Compares an object that was stored by RDMA with the memory that it was read from (rdma.verify):
/// by the object's CRC64NVME if the server has one, otherwise by reading it back over HTTP. Used by
/// one thread at a time.
class PutVerifier {
 public:
  /// How much is read back with one request.
  static constexpr std::size_t kStepBytes = 4UL * 1024 * 1024;

  enum class Finding {
    kUndecided,  ///< another request is needed
    kSame,
    kDiffers,
    kUnknown,  ///< it cannot be compared: it was replaced since, or may not be read
  };

  /// @param body  alive and unchanged as long as this lives
  /// @param etag  of the version that was stored
  PutVerifier(std::string key, const PutBody& body, std::string etag)
      : key_(std::move(key)), body_(body), etag_(std::move(etag)) {}

  /// The next request: a HEAD, then GETs.
  [[nodiscard]] Result<HttpRequest> build(Endpoint& endpoint);
  /// @param response  of any status; the caller repeats what is worth another attempt
  [[nodiscard]] Finding on_answer(const HttpResponse& response);

 private:
  [[nodiscard]] Result<HttpRequest> build_head(Endpoint& endpoint) const;
  [[nodiscard]] Finding on_head(const HttpResponse& response);
  [[nodiscard]] std::size_t step_bytes() const;

  const std::string key_;
  const PutBody body_;
  const std::string etag_;
  bool reads_back_ = false;
  std::size_t compared_bytes_ = 0;
  std::vector<std::byte> read_;
};

}  // namespace s3rdmafs::s3
