// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "s3/store_options.h"
#include "s3/wire/bucket_headers.h"
#include "s3/wire/credentials.h"
#include "s3/wire/http_message.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/s3/sigv4.h"

namespace s3rdmafs::s3 {

/// One S3 request before it is addressed and signed.
struct RequestSpec {
  HttpMethod method = HttpMethod::kGet;
  std::string_view key;     ///< empty: the bucket itself
  NameValues query = {};    ///< decoded
  NameValues headers = {};  ///< all of them are signed
  /// How the signature covers the body. Empty: the request has no body. kUnsignedPayload: for a
  /// token (s3rdmafs-protocol(7)) and for an object's bytes, which a signed checksum covers.
  std::string payload_hash = {};
};

/// One bucket at one endpoint.
struct BucketAddress {
  std::string bucket;
  std::string url;  ///< of the endpoint: scheme://host[:port] without a path
  std::string region;
  AddressingStyle addressing = AddressingStyle::kPath;
  BucketTerms terms = {};
};

/// Addresses and signs requests to one bucket at one endpoint. Thread-safe.
class RequestBuilder {
 public:
  /// Borrows source and clock.
  RequestBuilder(const BucketAddress& address, CredentialSource& credentials, const Clock& clock);

  /// Fills in method, operation, url and headers, with those of the bucket's terms; the caller
  /// fills in the rest. Errors: those of the credential source; kProtocol for a header with control
  /// characters, which can only come from a server's text.
  [[nodiscard]] Result<HttpRequest> build(RequestSpec spec);

  /// Where an object is, without a query.
  [[nodiscard]] std::string url_of(std::string_view key) const;
  [[nodiscard]] const std::string& bucket() const { return bucket_; }
  [[nodiscard]] const std::string& endpoint_url() const { return endpoint_url_; }

 private:
  [[nodiscard]] SigningKey key_for(const std::string& secret_access_key, const SigningScope& scope);
  [[nodiscard]] std::string path_of(std::string_view key) const;
  void sign(const RequestSpec& spec, const std::string& path, const Credentials& credentials,
            HttpRequest& request);

  const std::string bucket_;
  const std::string endpoint_url_;
  const std::string region_;
  const BucketHeaders headers_;
  CredentialSource& credentials_;
  const Clock& clock_;
  std::string base_url_;   // scheme://authority
  std::string host_;       // as the Host header has it: no default port
  std::string path_base_;  // "/" or "/bucket/"

  Mutex mutex_;  // leaf
  // The signing key of the day: saves four HMACs for each request.
  std::string key_date_ GUARDED_BY(mutex_);
  std::string key_secret_ GUARDED_BY(mutex_);
  SigningKey key_ GUARDED_BY(mutex_){};
};

}  // namespace s3rdmafs::s3
