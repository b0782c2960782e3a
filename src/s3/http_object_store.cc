// SPDX-License-Identifier: Apache-2.0
#include "s3/http_object_store.h"

#include <algorithm>
#include <string_view>

#include "s3/exchanges/complete_upload_exchange.h"
#include "s3/exchanges/conditional/version_removal.h"
#include "s3/exchanges/copy/copy_exchange.h"
#include "s3/exchanges/copy/large_copy.h"
#include "s3/exchanges/copy/part_copy_exchange.h"
#include "s3/exchanges/create_upload_exchange.h"
#include "s3/exchanges/get_exchange.h"
#include "s3/exchanges/list_uploads_exchange.h"
#include "s3/exchanges/removal.h"
#include "s3/exchanges/rename/rename_exchange.h"
#include "s3/wire/user_metadata.h"
#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

HttpEngine::Options engine_options(const HttpObjectStore::Options& options) {
  const std::vector<std::string>& urls = options.endpoint.urls;
  return {.event_threads = options.http.event_threads,
          .connections_max = options.http.connections_max,
          .servers = static_cast<unsigned>(urls.size()),
          .transfer = {.connect_timeout = options.http.connect_timeout,
                       .request_timeout = options.http.request_timeout,
                       .connection = options.endpoint.connection,
                       .rdma_timeout = options.rdma.transfer_timeout,
                       .rdma_names = {.reply = options.rdma.reply_header,
                                      .bytes = options.rdma.bytes_header}}};
}

Result<ObjectInfo> read_head(std::string key, const HttpResponse& response) {
  const ResponseHeaders& headers = response.headers;
  // Versions cannot be told apart without these two.
  if (headers.etag.empty() || !headers.content_length) {
    return fail(ErrorCode::kProtocol,
                fmt::format("HEAD '{}': the answer has no {}", key,
                            headers.etag.empty() ? "ETag" : "Content-Length"));
  }
  return ObjectInfo{
      .key = std::move(key),
      .etag = headers.etag,
      .size_bytes = *headers.content_length,
      .modified = headers.last_modified.value_or(std::chrono::system_clock::time_point()),
      .metadata = std::make_shared<const UserMetadata>(user_metadata_of(headers)),
      .headers = std::make_shared<const StoredHeaders>(headers.stored),
      .answered_at = headers.date.value_or(std::chrono::system_clock::time_point())};
}

/// The strongest that people compare by, of what the server has.
std::string checksum_of(const ResponseHeaders& headers) {
  std::string text = headers.checksum_other;
  if (!headers.checksum_crc32c.empty()) text = "crc32c:" + headers.checksum_crc32c;
  if (!headers.checksum_crc64nvme.empty()) text = "crc64nvme:" + headers.checksum_crc64nvme;
  if (!text.empty() && headers.checksum_type == "COMPOSITE") text += " (of the parts' checksums)";
  return text;
}

Result<ObjectDescription> read_description(std::string key, std::string url,
                                           const HttpResponse& response) {
  Result<ObjectInfo> object = read_head(std::move(key), response);
  if (!object) return std::unexpected(std::move(object.error()));
  return ObjectDescription{.object = std::move(*object),
                           .version_id = response.headers.version_id,
                           .checksum = checksum_of(response.headers),
                           .url = std::move(url)};
}

}  // namespace

HttpObjectStore::HttpObjectStore(const Options& options, CredentialSource& credentials,
                                 const Clock& clock, metrics::Registry& metrics)
    : metrics_(metrics, options.rdma.fabric),
      endpoints_(options.endpoint, options.bucket, options.terms, credentials, clock, metrics),
      verify_(options.rdma.verify),
      verify_puts_(options.rdma.verify),
      shared_{.endpoints = endpoints_,
              .metrics = metrics_,
              .verify = verify_,
              .verify_puts = verify_puts_,
              .hedges = hedges_,
              .may_hedge = options.endpoint.hedge && endpoints_.size() > 1,
              .clock = clock,
              .rdma = options.rdma},
      engine_(engine_options(options), clock),
      runner_(engine_, endpoints_, options.retry, clock, metrics_),
      put_sequence_(shared_, runner_, clock) {}

HttpObjectStore::~HttpObjectStore() { shut_down(); }

template <class T>
void HttpObjectStore::ask_head(const std::string& key, const NameValues& headers, Deadline deadline,
                               QueryExchange<T>::Read read, Done<T> done) {
  metrics_.requests(StoreMetrics::Operation::kHead).add();
  typename QueryExchange<T>::Query query{.method = HttpMethod::kHead,
                                         .verb = "HEAD",
                                         .key = key,
                                         .subject = key,
                                         .parameters = {},
                                         .text_bytes_max = 0,
                                         .headers = headers};
  runner_.run(
      std::make_unique<QueryExchange<T>>(std::move(query), std::move(read), std::move(done)),
      deadline);
}

void HttpObjectStore::head(std::string key, Deadline deadline, Done<ObjectInfo> done) {
  auto read = [key](const HttpResponse& response) { return read_head(key, response); };
  ask_head<ObjectInfo>(key, {}, deadline, std::move(read), std::move(done));
}

void HttpObjectStore::describe(std::string key, Deadline deadline, Done<ObjectDescription> done) {
  auto read = [key, url = endpoints_.peek().builder.url_of(key)](const HttpResponse& response) {
    return read_description(key, url, response);
  };
  ask_head<ObjectDescription>(key, {{"x-amz-checksum-mode", "ENABLED"}}, deadline, std::move(read),
                              std::move(done));
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
  } else if (!request.start_after.empty()) {
    parameters.emplace_back("start-after", std::move(request.start_after));
  }
  auto read = [](const HttpResponse& response) { return parse_list_page(response.text); };
  runner_.run(std::make_unique<QueryExchange<ListPage>>(
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
  runner_.run(std::make_unique<GetExchange>(shared_, std::move(request), std::move(done)),
              deadline);
}

void HttpObjectStore::put(std::string key, PutBody body, PutOptions options, Deadline deadline,
                          PutDone done) {
  metrics_.requests(StoreMetrics::Operation::kPut).add();
  if (auto good = check_user_metadata(options.metadata); !good) {
    return done({.etag = std::unexpected(std::move(good.error()))});
  }
  put_sequence_.run(std::move(key), body, std::move(options), deadline, std::move(done));
}

void HttpObjectStore::create_upload(std::string key, UserMetadata metadata, Deadline deadline,
                                    Done<std::string> done) {
  create({.key = std::move(key), .metadata = std::move(metadata)}, deadline, std::move(done));
}

void HttpObjectStore::create(NewUpload upload, Deadline deadline, Done<std::string> done) {
  metrics_.requests(StoreMetrics::Operation::kCreateUpload).add();
  if (auto good = check_user_metadata(upload.metadata); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  runner_.run(std::make_unique<CreateUploadExchange>(std::move(upload), std::move(done)), deadline);
}

void HttpObjectStore::upload_part(std::string key, std::string upload_id, unsigned number,
                                  PutBody body, Deadline deadline, PutDone done) {
  metrics_.requests(StoreMetrics::Operation::kUploadPart).add();
  runner_.run(
      std::make_unique<PutExchange>(shared_,
                                    PutExchange::Put{.key = std::move(key),
                                                     .upload_id = std::move(upload_id),
                                                     .part_number = number,
                                                     .body = body},
                                    [done = std::move(done)](PutExchange::Ended ended) mutable {
                                      done(std::move(ended.outcome));
                                    }),
      deadline);
}

void HttpObjectStore::complete_upload(std::string key, std::string upload_id,
                                      std::vector<UploadedPart> parts, Precondition when,
                                      Deadline deadline, Done<std::string> done) {
  metrics_.requests(StoreMetrics::Operation::kCompleteUpload).add();
  runner_.run(
      std::make_unique<CompleteUploadExchange>(shared_, std::move(key), std::move(upload_id),
                                               std::move(parts), std::move(when), std::move(done)),
      deadline);
}

void HttpObjectStore::upload_part_copy(CopySource source, std::uint64_t offset_bytes,
                                       std::uint64_t length_bytes, std::string key,
                                       std::string upload_id, unsigned number, Deadline deadline,
                                       Done<std::string> done) {
  metrics_.requests(StoreMetrics::Operation::kPartCopy).add();
  deadline += copy_time(length_bytes);
  runner_.run(
      std::make_unique<PartCopyExchange>(PartCopyExchange::Part{.source = std::move(source),
                                                                .offset_bytes = offset_bytes,
                                                                .length_bytes = length_bytes,
                                                                .key = std::move(key),
                                                                .upload_id = std::move(upload_id),
                                                                .number = number},
                                         std::move(done)),
      deadline);
}

void HttpObjectStore::copy(CopySource source, std::string key, CopyOptions options,
                           Deadline deadline, Done<std::string> done) {
  metrics_.requests(StoreMetrics::Operation::kCopy).add();
  if (options.metadata) {
    if (auto good = check_user_metadata(*options.metadata); !good) {
      return done(std::unexpected(std::move(good.error())));
    }
  }
  deadline += copy_time(source.size_bytes);
  if (source.size_bytes <= LargeCopy::kWholeBytesMax) {
    return runner_.run(std::make_unique<CopyExchange>(std::move(source), std::move(key),
                                                      std::move(options), std::move(done)),
                       deadline);
  }
  deadline += copy_time(source.size_bytes);  // of the assembly
  LargeCopyContext context{.objects = *this,
                           .writer = *this,
                           .clock = shared_.clock,
                           .create_upload =
                               [this](NewUpload upload, Deadline until, Done<std::string> created) {
                                 create(std::move(upload), until, std::move(created));
                               },
                           .upload_log = shared_.upload_log};
  std::make_shared<LargeCopy>(std::move(context),
                              LargeCopy::What{.source = std::move(source),
                                              .key = std::move(key),
                                              .options = std::move(options),
                                              .deadline = deadline},
                              std::move(done))
      ->start();
}

void HttpObjectStore::rename(CopySource source, std::string key, Precondition when,
                             Deadline deadline, Done<std::string> done) {
  // Amazon S3 renames no key that ends in "/".
  const bool is_marker = source.key.ends_with('/') || key.ends_with('/');
  if (is_marker || endpoints_.peek().renames.lacks()) {
    return done(fail(ErrorCode::kUnsupported, "there is no rename of '" + source.key + "'"));
  }
  metrics_.requests(StoreMetrics::Operation::kRename).add();
  runner_.run(std::make_unique<RenameExchange>(std::move(source), std::move(key), std::move(when),
                                               std::move(done)),
              deadline);
}

void HttpObjectStore::remove_version(std::string key, std::string etag, Deadline deadline,
                                     Done<void> done) {
  metrics_.requests(StoreMetrics::Operation::kRemove).add();
  runner_.run(std::make_unique<VersionRemoval>(std::move(key), std::move(etag), std::move(done)),
              deadline);
}

void HttpObjectStore::abort_upload(std::string key, std::string upload_id, Deadline deadline,
                                   Done<void> done) {
  metrics_.requests(StoreMetrics::Operation::kAbortUpload).add();
  runner_.run(make_removal({.verb = "ABORT UPLOAD",
                            .key = std::move(key),
                            .parameters = {{"uploadId", std::move(upload_id)}}},
                           std::move(done)),
              deadline);
}

void HttpObjectStore::list_uploads(std::string key, Deadline deadline, Done<OpenUploads> done) {
  metrics_.requests(StoreMetrics::Operation::kListUploads).add();
  runner_.run(std::make_unique<ListUploadsExchange>(std::move(key), std::move(done)), deadline);
}

void HttpObjectStore::has_parts(std::string key, std::string upload_id, Deadline deadline,
                                Done<bool> done) {
  metrics_.requests(StoreMetrics::Operation::kListParts).add();
  auto read = [](const HttpResponse& response) { return parse_has_parts(response.text); };
  runner_.run(std::make_unique<QueryExchange<bool>>(
                  QueryExchange<bool>::Query{
                      .method = HttpMethod::kGet,
                      .verb = "LIST PARTS",
                      .key = key,
                      .subject = key,
                      .parameters = {{"max-parts", "1"}, {"uploadId", std::move(upload_id)}},
                      .text_bytes_max = kErrorTextBytesMax},
                  std::move(read), std::move(done)),
              deadline);
}

void HttpObjectStore::remove(std::string key, Deadline deadline, Done<void> done) {
  metrics_.requests(StoreMetrics::Operation::kRemove).add();
  runner_.run(make_removal({.verb = "DELETE", .key = std::move(key)}, std::move(done)), deadline);
}

void HttpObjectStore::shut_down() { engine_.shut_down(); }

}  // namespace s3rdmafs::s3
