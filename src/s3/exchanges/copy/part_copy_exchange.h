// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "s3/exchanges/exchange.h"
#include "s3/object_writer.h"

namespace s3rdmafs::s3 {

/// UploadPartCopy. It may be repeated: the same bytes become the same part.
class PartCopyExchange final : public Exchange {
 public:
  struct Part {
    CopySource source;
    std::uint64_t offset_bytes = 0;
    std::uint64_t length_bytes = 0;
    std::string key;
    std::string upload_id;
    unsigned number = 0;
  };

  PartCopyExchange(Part part, Done<std::string> done);

  void next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) override;
  Next on_outcome(HttpOutcome outcome) override;
  void fail(Error error) override;
  void finish() override;

 private:
  [[nodiscard]] Next on_error(const HttpResponse& response, const S3Error& error) const;
  [[nodiscard]] std::string what() const;

  const Part part_;
  Endpoint* endpoint_ = nullptr;  // of the attempt under way
  Done<std::string> done_;
  Result<std::string> etag_;
};

}  // namespace s3rdmafs::s3
