// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/exchange.h"

#include "s3/wire/error_mapping.h"

namespace s3rdmafs::s3 {

Exchange::Next Exchange::refused(const Endpoint& endpoint, std::string_view verb,
                                 std::string_view subject, const HttpResponse& response,
                                 const S3Error& error) {
  return {.step = Next::Step::kFailed,
          .error = map_s3_error({.verb = verb,
                                 .key = subject,
                                 .bucket = endpoint.builder.bucket(),
                                 .endpoint = endpoint.builder.endpoint_url()},
                                response.status, error),
          .retry_after = response.headers.retry_after};
}

}  // namespace s3rdmafs::s3
