// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/store_options.h"

#include "credentials/open_credentials.h"

namespace s3rdmafs::daemon {
namespace {

s3::RdmaMode to_store(config::RdmaMode mode) {
  switch (mode) {
    case config::RdmaMode::kRequire:
      return s3::RdmaMode::kRequire;
    case config::RdmaMode::kPrefer:
      return s3::RdmaMode::kPrefer;
    case config::RdmaMode::kOff:
      break;
  }
  return s3::RdmaMode::kOff;
}

s3::Verify to_store(config::Verify verify) {
  switch (verify) {
    case config::Verify::kSample:
      return s3::Verify::kSample;
    case config::Verify::kAlways:
      return s3::Verify::kAlways;
    case config::Verify::kOff:
      break;
  }
  return s3::Verify::kOff;
}

s3::EndpointOptions to_store(const config::MountConfig::Endpoint& endpoint) {
  const bool is_virtual_host = endpoint.addressing == config::AddressingStyle::kVirtualHost;
  return {.urls = endpoint.all_urls(),
          .region = endpoint.region,
          .addressing =
              is_virtual_host ? s3::AddressingStyle::kVirtualHost : s3::AddressingStyle::kPath,
          .connection = endpoint.connection,
          .hedge = endpoint.hedge};
}

s3::Encryption to_store(config::Encryption mode) {
  switch (mode) {
    case config::Encryption::kSseS3:
      return s3::Encryption::kSseS3;
    case config::Encryption::kSseKms:
      return s3::Encryption::kSseKms;
    case config::Encryption::kSseC:
      return s3::Encryption::kSseC;
    case config::Encryption::kBucket:
      break;
  }
  return s3::Encryption::kBucket;
}

s3::BucketTerms terms_of(const config::MountConfig& config) {
  return {.requester_pays = config.bucket.requester_pays,
          .expected_owner = config.bucket.expected_owner,
          .storage_class = config.write.storage_class,
          .encryption = to_store(config.encryption.mode),
          .kms_key = config.encryption.kms_key,
          .customer_key = config.encryption.customer_key};
}

s3::RdmaOptions to_store(const config::MountConfig::Rdma& rdma) {
  const bool is_count_required = rdma.byte_count == config::ByteCount::kRequire;
  return {.mode = to_store(rdma.mode),
          .threshold_bytes = rdma.threshold_bytes,
          .token_header = rdma.token_header,
          .reply_header = rdma.reply_header,
          .bytes_header = rdma.bytes_header,
          .byte_count = is_count_required ? s3::ByteCount::kRequire : s3::ByteCount::kOptional,
          .transfer_timeout = rdma.transfer_timeout,
          .verify = to_store(rdma.verify)};
}

}  // namespace

s3::HttpObjectStore::Options store_options(const config::MountConfig& config) {
  return {.bucket = config.bucket.name,
          .terms = terms_of(config),
          .endpoint = to_store(config.endpoint),
          .rdma = to_store(config.rdma),
          .http = {.event_threads = config.http.event_threads,
                   .connections_max = config.http.connections_max,
                   .connect_timeout = config.http.connect_timeout,
                   .request_timeout = config.http.request_timeout},
          .retry = {.attempts_max = config.retry.attempts_max,
                    .backoff_first = config.retry.backoff_first,
                    .backoff_max = config.retry.backoff_max}};
}

Result<std::unique_ptr<s3::CredentialSource>> open_keys(const config::CredentialChoice& choice,
                                                        const config::MountConfig& config,
                                                        const Clock& clock,
                                                        metrics::Registry& metrics) {
  return credentials::open_credentials(choice,
                                       {.url = choice.sts_url,
                                        .region = config.endpoint.region,
                                        .connection = config.endpoint.connection},
                                       clock, metrics);
}

}  // namespace s3rdmafs::daemon
