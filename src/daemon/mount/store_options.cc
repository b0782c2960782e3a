// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/store_options.h"

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
          .ca_file = endpoint.ca_file,
          .hedge = endpoint.hedge};
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

s3::Credentials store_credentials(const config::Credentials& found) {
  return {.anonymous = found.anonymous,
          .access_key_id = found.access_key_id,
          .secret_access_key = found.secret_access_key,
          .session_token = found.session_token};
}

}  // namespace s3rdmafs::daemon
