// SPDX-License-Identifier: Apache-2.0
// What a store is told when it is made. Plain values; daemon/mount/store_options.h makes them from
// a mount file, which has checked them and holds their defaults.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/connection_options.h"

namespace s3rdmafs::s3 {

/// Where a request's URL names the bucket.
enum class AddressingStyle {
  kPath,         ///< http://host/bucket/key
  kVirtualHost,  ///< http://bucket.host/key
};

/// Whether bulk bytes may, should or must go by RDMA token.
enum class RdmaMode {
  kRequire,  ///< a transfer that cannot use RDMA fails
  kPrefer,   ///< RDMA where it works, HTTP elsewhere, counted and logged
  kOff,      ///< HTTP only
};

/// Whether an answer that reports success by RDMA must also report the number of bytes.
enum class ByteCount {
  kRequire,
  kOptional,  ///< not needed if the rest of the answer leaves no doubt
};

/// Which transfers by RDMA are compared with what the server has.
enum class Verify {
  kOff,
  kSample,  ///< the first ones and a few of the later ones (s3/endpoints/verify_sampler.h)
  kAlways,
};

/// How the server encrypts what is stored.
enum class Encryption {
  kBucket,  ///< as the bucket's own settings say
  kSseS3,
  kSseKms,
  kSseC,
};

/// The terms on which a bucket is used.
struct BucketTerms {
  bool requester_pays = false;      ///< each request agrees to pay
  std::string expected_owner = {};  ///< an account; empty: any
  std::string storage_class = {};   ///< of what is stored; empty: the server's default
  Encryption encryption = Encryption::kBucket;
  std::string kms_key = {};       ///< with kSseKms; empty: the service's default
  std::string customer_key = {};  ///< with kSseC: 32 bytes in base64
};

/// The servers of one store.
struct EndpointOptions {
  /// scheme://host[:port] without a path, one for each server; at least one.
  std::vector<std::string> urls = {};
  std::string region = {};
  AddressingStyle addressing = AddressingStyle::kPath;
  net::ConnectionOptions connection = {};
  bool hedge = true;  ///< whether a slow read may be given up and sent to another server
  /// The number that each URL's server has among those of the fabric; empty: that in `urls`.
  std::vector<std::size_t> fabric_numbers = {};
};

struct RdmaOptions {
  RdmaMode mode = RdmaMode::kPrefer;
  std::string_view fabric = "rdma";  ///< its name, as a label of metrics; static
  /// Shorter transfers go by HTTP; none: learned from the transfers (s3/endpoints/path_model.h).
  std::optional<std::uint64_t> threshold_bytes = 0;
  // Names of headers, in lower case.
  std::string token_header = "x-amz-rdma-token";
  std::string reply_header = "x-amz-rdma-reply";
  std::string bytes_header = "x-amz-rdma-bytes-transferred";
  ByteCount byte_count = ByteCount::kRequire;
  std::chrono::milliseconds transfer_timeout{10'000};  ///< of one attempt with a token
  Verify verify = Verify::kOff;
};

struct HttpOptions {
  unsigned event_threads = 1;    ///< at least 1
  unsigned connections_max = 1;  ///< in all, over every event thread
  std::chrono::milliseconds connect_timeout{};
  std::chrono::milliseconds request_timeout{};  ///< one attempt, first byte sent to last received
};

}  // namespace s3rdmafs::s3
