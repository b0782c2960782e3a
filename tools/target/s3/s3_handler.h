// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "target/http/message.h"
#include "target/s3/services.h"

namespace s3rdmafs::target {

/// Serves S3: finds the operation of a request, its sender and their rights, lets the operation
/// answer, and counts. Thread-safe.
class S3Handler final : public Handler {
 public:
  explicit S3Handler(const Services& services) : services_(services) {}
  std::unique_ptr<Exchange> begin(Request request) override;

 private:
  const Services& services_;
};

}  // namespace s3rdmafs::target
