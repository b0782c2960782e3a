// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/exchanges/exchange.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"

namespace s3rdmafs::s3 {

/// An upload that is to be created.
struct NewUpload {
  std::string key;
  UserMetadata metadata = {};
  StoredHeaders headers = {};
  /// Parts that the server copies need none, and some servers then want one with each of them.
  bool has_checksum = true;
};

/// CreateMultipartUpload, without a checksum algorithm if the server refuses ours.
class CreateUploadExchange final : public Exchange {
 public:
  CreateUploadExchange(NewUpload upload, Done<std::string> done);

  void next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) override;
  Next on_outcome(HttpOutcome outcome) override;
  void fail(Error error) override;
  void finish() override;

 private:
  Endpoint* endpoint_ = nullptr;  // of the attempt under way
  const NewUpload upload_;
  Done<std::string> done_;
  Result<std::string> upload_id_;
};

}  // namespace s3rdmafs::s3
