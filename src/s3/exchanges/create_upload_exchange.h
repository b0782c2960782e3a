// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/exchanges/exchange.h"
#include "s3rdmafs/base/callback.h"

namespace s3rdmafs::s3 {

/// CreateMultipartUpload, without a checksum algorithm if the server refuses ours.
class CreateUploadExchange final : public Exchange {
 public:
  CreateUploadExchange(std::string key, Done<std::string> done);

  void next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) override;
  Next on_outcome(HttpOutcome outcome) override;
  void fail(Error error) override;
  void finish() override;

 private:
  Endpoint* endpoint_ = nullptr;  // of the attempt under way
  const std::string key_;
  Done<std::string> done_;
  Result<std::string> upload_id_;
};

}  // namespace s3rdmafs::s3
