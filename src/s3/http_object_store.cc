// SPDX-License-Identifier: Apache-2.0
#include "s3/http_object_store.h"

#include <string_view>

#include "s3/query_exchange.h"
#include "s3/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

/// A request to this very host never belongs to a proxy, whatever the environment says.
bool is_loopback(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end != std::string_view::npos) url.remove_prefix(scheme_end + 3);
  return url.starts_with("127.") || url.starts_with("localhost") || url.starts_with("[::1]");
}

HttpEngine::Options engine_options(const HttpObjectStore::Options& options) {
  return {.event_threads = options.http.event_threads,
          .connections_max = options.http.connections_max,
          .transfer = {.connect_timeout = options.http.connect_timeout,
                       .request_timeout = options.http.request_timeout,
                       .ca_file = options.endpoint.ca_file,
                       .ignore_proxy_environment = is_loopback(options.endpoint.url)}};
}

RetryPolicy retry_policy(const config::MountConfig::Retry& retry) {
  return {.attempts_max = retry.attempts_max,
          .backoff_first = retry.backoff_first,
          .backoff_max = retry.backoff_max};
}

Result<ObjectInfo> read_head(std::string key, const HttpResponse& response) {
  const ResponseHeaders& headers = response.headers;
  // Without these two no version could be told from another.
  if (headers.etag.empty() || !headers.content_length) {
    return fail(ErrorCode::kProtocol,
                fmt::format("HEAD '{}': the answer has no {}", key,
                            headers.etag.empty() ? "ETag" : "Content-Length"));
  }
  return ObjectInfo{
      .key = std::move(key),
      .etag = headers.etag,
      .size_bytes = *headers.content_length,
      .modified = headers.last_modified.value_or(std::chrono::system_clock::time_point())};
}

}  // namespace

HttpObjectStore::HttpObjectStore(const Options& options, CredentialSource& credentials,
                                 const Clock& clock, metrics::Registry& metrics)
    : metrics_(metrics),
      requests_(options.endpoint, options.bucket.name, credentials, clock),
      capability_(clock),
      get_shared_{.requests = requests_,
                  .capability = capability_,
                  .metrics = metrics_,
                  .rdma = options.rdma},
      engine_(engine_options(options), clock),
      runner_(engine_, retry_policy(options.retry), clock, metrics_) {}

HttpObjectStore::~HttpObjectStore() { shut_down(); }

void HttpObjectStore::head(std::string key, Deadline deadline, Done<ObjectInfo> done) {
  metrics_.requests(StoreMetrics::Operation::kHead).add();
  auto read = [key](const HttpResponse& response) { return read_head(key, response); };
  runner_.run(std::make_unique<QueryExchange<ObjectInfo>>(
                  requests_,
                  QueryExchange<ObjectInfo>::Query{.method = HttpMethod::kHead,
                                                   .verb = "HEAD",
                                                   .key = key,
                                                   .subject = key,
                                                   .parameters = {},
                                                   .text_bytes_max = 0},
                  std::move(read), std::move(done)),
              deadline);
}

void HttpObjectStore::list(ListRequest request, Deadline deadline, Done<ListPage> done) {
  metrics_.requests(StoreMetrics::Operation::kList).add();
  NameValues parameters = {{"list-type", "2"},
                           {"encoding-type", "url"},
                           {"max-keys", std::to_string(request.keys_max)},
                           {"prefix", request.prefix}};
  if (!request.delimiter.empty()) parameters.emplace_back("delimiter", request.delimiter);
  if (!request.continuation_token.empty()) {
    parameters.emplace_back("continuation-token", std::move(request.continuation_token));
  }
  auto read = [](const HttpResponse& response) { return parse_list_page(response.text); };
  runner_.run(std::make_unique<QueryExchange<ListPage>>(
                  requests_,
                  QueryExchange<ListPage>::Query{.method = HttpMethod::kGet,
                                                 .verb = "LIST",
                                                 .key = {},
                                                 .subject = std::move(request.prefix),
                                                 .parameters = std::move(parameters),
                                                 .text_bytes_max = kListTextBytesMax},
                  std::move(read), std::move(done)),
              deadline);
}

void HttpObjectStore::get(GetRequest request, Deadline deadline, GetDone done) {
  metrics_.requests(StoreMetrics::Operation::kGet).add();
  runner_.run(std::make_unique<GetExchange>(get_shared_, std::move(request), std::move(done)),
              deadline);
}

void HttpObjectStore::shut_down() { engine_.shut_down(); }

}  // namespace s3rdmafs::s3
