// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/store_options.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

TEST(StoreOptions, HaveWhatTheMountFileSays) {
  config::MountConfig config;
  config.bucket.name = "train";
  config.endpoint = {.url = "",
                     .urls = {"http://a", "http://b"},
                     .hedge = false,
                     .region = "r",
                     .addressing = config::AddressingStyle::kVirtualHost,
                     .connection = {.ca_file = "ca.pem"}};
  config.rdma = {.mode = config::RdmaMode::kRequire,
                 .threshold_bytes = 7,
                 .shm_socket = "auto",
                 .token_header = "t",
                 .reply_header = "p",
                 .bytes_header = "n",
                 .byte_count = config::ByteCount::kOptional,
                 .transfer_timeout = 3s,
                 .verify = config::Verify::kSample};
  config.http = {
      .event_threads = 2, .connections_max = 9, .connect_timeout = 4s, .request_timeout = 5s};
  config.retry = {.attempts_max = 6, .backoff_first = 1ms, .backoff_max = 2ms, .deadline = 1min};

  const s3::HttpObjectStore::Options options = store_options(config);
  EXPECT_EQ(options.bucket, "train");
  EXPECT_THAT(options.endpoint.urls, ElementsAre("http://a", "http://b"));
  EXPECT_EQ(options.endpoint.region, "r");
  EXPECT_EQ(options.endpoint.addressing, s3::AddressingStyle::kVirtualHost);
  EXPECT_EQ(options.endpoint.connection.ca_file, "ca.pem");
  EXPECT_FALSE(options.endpoint.hedge);
  EXPECT_EQ(options.rdma.mode, s3::RdmaMode::kRequire);
  EXPECT_EQ(options.rdma.threshold_bytes, 7U);
  EXPECT_EQ(options.rdma.token_header, "t");
  EXPECT_EQ(options.rdma.reply_header, "p");
  EXPECT_EQ(options.rdma.bytes_header, "n");
  EXPECT_EQ(options.rdma.byte_count, s3::ByteCount::kOptional);
  EXPECT_EQ(options.rdma.transfer_timeout, 3s);
  EXPECT_EQ(options.rdma.verify, s3::Verify::kSample);
  EXPECT_EQ(options.http.event_threads, 2U);
  EXPECT_EQ(options.http.connections_max, 9U);
  EXPECT_EQ(options.http.connect_timeout, 4s);
  EXPECT_EQ(options.http.request_timeout, 5s);
  EXPECT_EQ(options.retry.attempts_max, 6U);
  EXPECT_EQ(options.retry.backoff_first, 1ms);
  EXPECT_EQ(options.retry.backoff_max, 2ms);
}

TEST(StoreOptions, HaveTheTermsOfTheBucket) {
  config::MountConfig config;
  config.bucket.requester_pays = true;
  config.bucket.expected_owner = "111122223333";
  config.write.storage_class = "STANDARD_IA";
  config.encryption = {
      .mode = config::Encryption::kSseKms, .kms_key = "kms", .customer_key = "customer"};
  const s3::BucketTerms terms = store_options(config).terms;
  EXPECT_TRUE(terms.requester_pays);
  EXPECT_EQ(terms.expected_owner, "111122223333");
  EXPECT_EQ(terms.storage_class, "STANDARD_IA");
  EXPECT_EQ(terms.kms_key, "kms");
  EXPECT_EQ(terms.customer_key, "customer");
  using Mode = std::pair<config::Encryption, s3::Encryption>;
  for (const auto& [mode, expected] : {Mode(config::Encryption::kBucket, s3::Encryption::kBucket),
                                       Mode(config::Encryption::kSseS3, s3::Encryption::kSseS3),
                                       Mode(config::Encryption::kSseKms, s3::Encryption::kSseKms),
                                       Mode(config::Encryption::kSseC, s3::Encryption::kSseC)}) {
    config.encryption.mode = mode;
    EXPECT_EQ(store_options(config).terms.encryption, expected);
  }
}

TEST(StoreOptions, HaveTheOneUrlWhereTheMountFileHasNoList) {
  config::MountConfig config;
  config.endpoint.url = "http://a";
  EXPECT_THAT(store_options(config).endpoint.urls, ElementsAre("http://a"));
}

TEST(StoreOptions, KeepEveryModeApart) {
  config::MountConfig config;
  for (const auto& [mode, expected] : {std::pair(config::RdmaMode::kPrefer, s3::RdmaMode::kPrefer),
                                       std::pair(config::RdmaMode::kOff, s3::RdmaMode::kOff)}) {
    config.rdma.mode = mode;
    EXPECT_EQ(store_options(config).rdma.mode, expected);
  }
  for (const auto& [verify, expected] : {std::pair(config::Verify::kAlways, s3::Verify::kAlways),
                                         std::pair(config::Verify::kOff, s3::Verify::kOff)}) {
    config.rdma.verify = verify;
    EXPECT_EQ(store_options(config).rdma.verify, expected);
  }
}

}  // namespace
}  // namespace s3rdmafs::daemon
