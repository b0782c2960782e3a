// SPDX-License-Identifier: Apache-2.0
//
// An attempt that was not answered may have created an upload whose id the client does not know. It
// has no parts, so it costs only an entry in the bucket's list of uploads, until a life-cycle rule
// removes that.
#include "s3/exchanges/create_upload_exchange.h"

#include "s3/wire/stored_headers.h"
#include "s3/wire/user_metadata.h"
#include "s3/wire/xml/xml_reader.h"

namespace s3rdmafs::s3 {

CreateUploadExchange::CreateUploadExchange(NewUpload upload, Done<std::string> done)
    : upload_(std::move(upload)),
      done_(std::move(done)),
      upload_id_(s3rdmafs::fail(ErrorCode::kCancelled, "")) {}

void CreateUploadExchange::next_request(Endpoint& endpoint, Deadline, Done<HttpRequest> ready) {
  endpoint_ = &endpoint;
  RequestSpec spec{
      .method = HttpMethod::kPost, .key = upload_.key, .query = {{"uploads", ""}}, .headers = {}};
  add_stored_headers(spec.headers, upload_.headers);
  add_user_metadata(spec.headers, upload_.metadata);
  if (upload_.has_checksum && endpoint_->checksums.takes_crc64nvme()) {
    spec.headers.emplace_back("x-amz-checksum-algorithm", "CRC64NVME");
  }
  Result<HttpRequest> request = endpoint_->builder.build(std::move(spec));
  if (request) request->text_bytes_max = kErrorTextBytesMax;
  ready(std::move(request));
}

Exchange::Next CreateUploadExchange::on_outcome(HttpOutcome outcome) {
  if (!outcome) return failed(std::move(outcome.error().error));
  if (!outcome->is_success()) {
    const S3Error error = parse_error(outcome->text);
    if (upload_.has_checksum && endpoint_->checksums.is_refusal(outcome->status, error))
      return send_again();
    return refused(*endpoint_, "CREATE UPLOAD", upload_.key, *outcome, error);
  }
  upload_id_ = parse_upload_id(outcome->text);
  return finished();
}

void CreateUploadExchange::fail(Error error) { upload_id_ = std::unexpected(std::move(error)); }

void CreateUploadExchange::finish() { done_(std::move(upload_id_)); }

}  // namespace s3rdmafs::s3
