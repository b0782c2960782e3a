// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/put/put_verifier.h"

#include <algorithm>

#include "s3/wire/object_checksum.h"
#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {

std::size_t PutVerifier::step_bytes() const {
  return std::min(body_.window.length - compared_bytes_, kStepBytes);
}

Result<HttpRequest> PutVerifier::build(Endpoint& endpoint) {
  if (!reads_back_) return build_head(endpoint);
  const std::size_t last = compared_bytes_ + step_bytes() - 1;
  Result<HttpRequest> request = endpoint.builder.build(
      {.key = key_,
       .headers = {{"range", fmt::format("bytes={}-{}", compared_bytes_, last)},
                   {"if-match", etag_}}});
  if (!request) return request;
  read_.resize(step_bytes());
  request->body_into = read_;
  request->text_bytes_max = kErrorTextBytesMax;
  return request;
}

Result<HttpRequest> PutVerifier::build_head(Endpoint& endpoint) const {
  return endpoint.builder.build(
      {.method = HttpMethod::kHead, .key = key_, .headers = {{"x-amz-checksum-mode", "ENABLED"}}});
}

PutVerifier::Finding PutVerifier::on_answer(const HttpResponse& response) {
  if (!response.is_success()) return Finding::kUnknown;
  if (!response.headers.etag.empty() && !is_same_etag(response.headers.etag, etag_)) {
    return Finding::kUnknown;  // another client has replaced it
  }
  if (!reads_back_) return on_head(response);
  if (response.body_is_too_long || response.body_bytes != read_.size()) return Finding::kUnknown;
  if (!std::ranges::equal(read_, body_.window.bytes().subspan(compared_bytes_, read_.size()))) {
    return Finding::kDiffers;
  }
  compared_bytes_ += read_.size();
  return compared_bytes_ == body_.window.length ? Finding::kSame : Finding::kUndecided;
}

PutVerifier::Finding PutVerifier::on_head(const HttpResponse& response) {
  const ResponseHeaders& headers = response.headers;
  if (headers.content_length && *headers.content_length != body_.window.length) {
    return Finding::kDiffers;
  }
  if (!headers.checksum_crc64nvme.empty() && headers.checksum_type != "COMPOSITE") {
    const bool is_same = headers.checksum_crc64nvme == checksum_text(body_.crc64nvme);
    return is_same ? Finding::kSame : Finding::kDiffers;
  }
  reads_back_ = true;
  return Finding::kUndecided;
}

}  // namespace s3rdmafs::s3
