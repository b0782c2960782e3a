// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/endpoints/endpoints.h"
#include "s3/endpoints/hedge_policy.h"
#include "s3/exchanges/create_upload_exchange.h"
#include "s3/exchanges/put/put_sequence.h"
#include "s3/exchanges/query_exchange.h"
#include "s3/exchanges/retry_policy.h"
#include "s3/exchanges/retry_runner.h"
#include "s3/http/http_engine.h"
#include "s3/object_writer.h"
#include "s3/store_metrics.h"
#include "s3/store_options.h"
#include "s3/wire/credentials.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::s3 {

/// One bucket on all its endpoints, over HTTP with RDMA tokens. Its threads are the engine's event
/// threads. They run the `done`s, which therefore must not block, nor call shut_down().
class HttpObjectStore final : public ObjectStore, public ObjectWriter {
 public:
  struct Options {
    std::string bucket;  ///< its name
    BucketTerms terms = {};
    EndpointOptions endpoint;
    RdmaOptions rdma;
    HttpOptions http;
    RetryPolicy retry;
  };

  /// Borrows all but the options for its lifetime.
  HttpObjectStore(const Options& options, CredentialSource& credentials, const Clock& clock,
                  metrics::Registry& metrics);
  /// Shuts down.
  ~HttpObjectStore() override;

  /// Notes uploads of its own from now on. To be called before the first operation that writes;
  /// borrowed until shut_down().
  void set_upload_log(UploadLog& log) { shared_.upload_log = &log; }

  void head(std::string key, Deadline deadline, Done<ObjectInfo> done) override;
  void describe(std::string key, Deadline deadline, Done<ObjectDescription> done) override;
  void list(ListRequest request, Deadline deadline, Done<ListPage> done) override;
  void get(GetRequest request, Deadline deadline, GetDone done) override;
  void shut_down() override;

  void put(std::string key, PutBody body, PutOptions options, Deadline deadline,
           PutDone done) override;
  void create_upload(std::string key, UserMetadata metadata, Deadline deadline,
                     Done<std::string> done) override;
  void upload_part_copy(CopySource source, std::uint64_t offset_bytes, std::uint64_t length_bytes,
                        std::string key, std::string upload_id, unsigned number, Deadline deadline,
                        Done<std::string> done) override;
  void copy(CopySource source, std::string key, CopyOptions options, Deadline deadline,
            Done<std::string> done) override;
  void rename(CopySource source, std::string key, Precondition when, Deadline deadline,
              Done<std::string> done) override;
  void upload_part(std::string key, std::string upload_id, unsigned number, PutBody body,
                   Deadline deadline, PutDone done) override;
  void complete_upload(std::string key, std::string upload_id, std::vector<UploadedPart> parts,
                       Precondition when, Deadline deadline, Done<std::string> done) override;
  void abort_upload(std::string key, std::string upload_id, Deadline deadline,
                    Done<void> done) override;
  void list_uploads(std::string key, Deadline deadline, Done<OpenUploads> done) override;
  void has_parts(std::string key, std::string upload_id, Deadline deadline,
                 Done<bool> done) override;
  void remove(std::string key, Deadline deadline, Done<void> done) override;
  void remove_version(std::string key, std::string etag, Deadline deadline,
                      Done<void> done) override;

 private:
  template <class T>
  void ask_head(const std::string& key, const NameValues& headers, Deadline deadline,
                QueryExchange<T>::Read read, Done<T> done);
  void create(NewUpload upload, Deadline deadline, Done<std::string> done);

  StoreMetrics metrics_;
  Endpoints endpoints_;
  VerifySampler verify_;
  VerifySampler verify_puts_;
  HedgePolicy hedges_;
  TransferShared shared_;
  HttpEngine engine_;
  RetryRunner runner_;
  PutSequence put_sequence_;
};

}  // namespace s3rdmafs::s3
