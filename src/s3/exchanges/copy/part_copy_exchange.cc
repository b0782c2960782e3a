// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/copy/part_copy_exchange.h"

#include "s3/exchanges/copy/copy_request.h"
#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {

PartCopyExchange::PartCopyExchange(Part part, Done<std::string> done)
    : part_(std::move(part)),
      done_(std::move(done)),
      etag_(s3rdmafs::fail(ErrorCode::kCancelled, "")) {}

void PartCopyExchange::next_request(Endpoint& endpoint, Deadline, Done<HttpRequest> ready) {
  endpoint_ = &endpoint;
  RequestSpec spec{
      .method = HttpMethod::kPut,
      .key = part_.key,
      .query = {{"partNumber", std::to_string(part_.number)}, {"uploadId", part_.upload_id}},
      .headers = copy_source_headers(endpoint, part_.source)};
  // Amazon S3 takes no range of a source of 5 MiB or less, so that of all bytes is left out.
  const bool is_whole = part_.offset_bytes == 0 && part_.length_bytes == part_.source.size_bytes;
  if (!is_whole) {
    spec.headers.emplace_back("x-amz-copy-source-range",
                              fmt::format("bytes={}-{}", part_.offset_bytes,
                                          part_.offset_bytes + part_.length_bytes - 1));
  }
  Result<HttpRequest> request = endpoint.builder.build(std::move(spec));
  if (request) finish_copy_request(*request, part_.length_bytes);
  ready(std::move(request));
}

Exchange::Next PartCopyExchange::on_outcome(HttpOutcome outcome) {
  if (!outcome) return failed(std::move(outcome.error().error));
  const S3Error error = copy_error(*outcome);
  if (!outcome->is_success() || !error.code.empty()) return on_error(*outcome, error);
  etag_ = parse_copied_etag(outcome->text);
  return finished();
}

Exchange::Next PartCopyExchange::on_error(const HttpResponse& response,
                                          const S3Error& error) const {
  const int status = status_of(response.status, error);
  const bool is_source_gone = status == 404 && error.code == "NoSuchKey";
  if (status == 412 || is_source_gone) {
    return failed(ErrorCode::kStale, fmt::format("{}: the source does not have version {} any more",
                                                 what(), part_.source.etag));
  }
  Next next = refused(*endpoint_, "COPY PART", part_.source.key, response, error);
  if (is_copy_unsupported(response, error)) next.error.code = ErrorCode::kUnsupported;
  return next;
}

std::string PartCopyExchange::what() const {
  return fmt::format("COPY '{}' to part {} of '{}'", part_.source.key, part_.number, part_.key);
}

void PartCopyExchange::fail(Error error) { etag_ = std::unexpected(std::move(error)); }

void PartCopyExchange::finish() { done_(std::move(etag_)); }

}  // namespace s3rdmafs::s3
