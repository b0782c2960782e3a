// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/request.h"

#include "s3/wire/server_text.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::s3 {
namespace {

/// SHA-256 of an empty body. Every server takes it, whereas some refuse UNSIGNED-PAYLOAD without
/// TLS.
constexpr std::string_view kEmptyPayloadHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

}  // namespace

RequestBuilder::RequestBuilder(const BucketAddress& address, CredentialSource& credentials,
                               const Clock& clock)
    : bucket_(address.bucket),
      endpoint_url_(address.url),
      region_(address.region),
      headers_(address.terms),
      credentials_(credentials),
      clock_(clock) {
  std::string_view url = address.url;
  while (url.ends_with('/')) url.remove_suffix(1);
  const std::size_t scheme_end = url.find("://");
  const std::string_view scheme = url.substr(0, scheme_end);
  std::string authority(scheme_end == std::string_view::npos ? url : url.substr(scheme_end + 3));
  if (address.addressing == AddressingStyle::kVirtualHost) {
    authority = bucket_ + "." + authority;
    path_base_ = "/";
  } else {
    path_base_ = "/" + uri_encode(bucket_, /*keep_slash=*/false) + "/";
  }
  base_url_ = std::string(scheme) + "://" + authority;
  host_ = host_of_url(base_url_);
}

std::string RequestBuilder::path_of(std::string_view key) const {
  return path_base_ + uri_encode(key, /*keep_slash=*/true);
}

std::string RequestBuilder::url_of(std::string_view key) const { return base_url_ + path_of(key); }

Result<HttpRequest> RequestBuilder::build(RequestSpec spec) {
  Result<Credentials> credentials = credentials_.get();
  if (!credentials) return std::unexpected(std::move(credentials.error()));
  headers_.add_to(spec);
  const std::string path = path_of(spec.key);
  HttpRequest request;
  request.method = spec.method;
  request.operation = operation_of(spec);
  request.url = base_url_ + path;
  if (!spec.query.empty()) request.url += '?' + encode_fields(spec.query);
  request.headers.reserve(spec.headers.size() + 5);
  request.headers.push_back("Host: " + host_);
  for (const auto& [name, value] : spec.headers) {
    request.headers.push_back(fmt::format("{}: {}", name, value));
  }
  if (!credentials->anonymous) sign(spec, path, *credentials, request);
  for (const std::string& line : request.headers) {
    if (!has_control_character(line)) continue;
    // The value is not shown: it may be a secret, and control characters can harm a terminal.
    return fail(
        ErrorCode::kProtocol,
        fmt::format("the request's header {} has control characters; the request was not sent",
                    line.substr(0, line.find(':'))));
  }
  return request;
}

void RequestBuilder::sign(const RequestSpec& spec, const std::string& path,
                          const Credentials& credentials, HttpRequest& request) {
  const std::string date = amz_date(clock_.wall_now());
  const SigningScope scope{.date = date.substr(0, 8), .region = region_};
  SignedRequest to_sign{.method = method_name(spec.method),
                        .encoded_path = path,
                        .query = spec.query,
                        .headers = spec.headers,
                        .payload_hash = spec.payload_hash.empty() ? std::string(kEmptyPayloadHash)
                                                                  : spec.payload_hash};
  const std::size_t own_begin = to_sign.headers.size();
  to_sign.headers.emplace_back("x-amz-date", date);
  to_sign.headers.emplace_back("x-amz-content-sha256", to_sign.payload_hash);
  if (!credentials.session_token.empty()) {
    to_sign.headers.emplace_back("x-amz-security-token", credentials.session_token);
  }
  for (std::size_t i = own_begin; i < to_sign.headers.size(); ++i) {
    request.headers.push_back(to_sign.headers[i].first + ": " + to_sign.headers[i].second);
  }
  to_sign.headers.emplace_back("host", host_);

  const SigningKey key = key_for(credentials.secret_access_key, scope);
  request.headers.push_back("Authorization: " +
                            authorization(to_sign, credentials.access_key_id, key, date, scope));
}

SigningKey RequestBuilder::key_for(const std::string& secret_access_key,
                                   const SigningScope& scope) {
  const MutexLock lock(mutex_);
  if (key_date_ != scope.date || key_secret_ != secret_access_key) {
    key_ = signing_key(secret_access_key, scope);
    key_date_ = scope.date;
    key_secret_ = secret_access_key;
  }
  return key_;
}

}  // namespace s3rdmafs::s3
