// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/list_uploads_exchange.h"

#include <utility>

namespace s3rdmafs::s3 {
namespace {

// A key has one upload, or a few. A server whose markers return would be asked for ever.
constexpr int kUploadPagesMax = 10;

}  // namespace

ListUploadsExchange::ListUploadsExchange(std::string key, Done<OpenUploads> done)
    : key_(std::move(key)), done_(std::move(done)) {}

void ListUploadsExchange::next_request(Endpoint& endpoint, Deadline, Done<HttpRequest> ready) {
  endpoint_ = &endpoint;
  NameValues query = {
      {"uploads", ""}, {"encoding-type", "url"}, {"max-uploads", "1000"}, {"prefix", key_}};
  if (!id_marker_.empty()) {
    query.emplace_back("key-marker", key_);
    query.emplace_back("upload-id-marker", id_marker_);
  }
  Result<HttpRequest> request =
      endpoint.builder.build({.method = HttpMethod::kGet, .key = {}, .query = std::move(query)});
  if (request) request->text_bytes_max = kListTextBytesMax;
  ready(std::move(request));
}

Exchange::Next ListUploadsExchange::on_outcome(HttpOutcome outcome) {
  if (!outcome) return failed(std::move(outcome.error().error));
  if (!outcome->is_success()) {
    return refused(*endpoint_, "LIST UPLOADS", key_, *outcome, parse_error(outcome->text));
  }
  if (outcome->body_is_too_long) {
    return failed(ErrorCode::kProtocol, "the answer is longer than a valid one can be");
  }
  Result<UploadsPage> page = parse_uploads_page(outcome->text);
  if (!page) return failed(std::move(page.error()));
  found_.server_time = outcome->headers.date;
  return on_page(std::move(*page));
}

Exchange::Next ListUploadsExchange::on_page(UploadsPage page) {
  for (UploadsPage::Upload& upload : page.uploads) {
    if (upload.key == key_) found_.uploads.push_back({std::move(upload.id), upload.initiated});
  }
  // The next page begins with another key, or the server has no other.
  const bool has_more = page.next_key == key_ && !page.next_id.empty();
  if (!has_more || ++pages_ == kUploadPagesMax) return finished();
  id_marker_ = std::move(page.next_id);
  return send_again();
}

void ListUploadsExchange::fail(Error error) { outcome_ = std::unexpected(std::move(error)); }

void ListUploadsExchange::finish() {
  if (!outcome_) return done_(std::unexpected(std::move(outcome_.error())));
  done_(std::move(found_));
}

}  // namespace s3rdmafs::s3
