// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/request.h"

#include <ctime>

#include "s3/wire/server_text.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::s3 {
namespace {

/// SHA-256 of an empty body. Every server takes it, whereas some refuse UNSIGNED-PAYLOAD without
/// TLS.
constexpr std::string_view kEmptyPayloadHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// YYYYMMDD'T'HHMMSS'Z'.
std::string amz_date(std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 17> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return text.data();
}

/// The authority without the port that its scheme implies, as clients send it (RFC 9110 7.2).
std::string without_default_port(std::string_view scheme, std::string_view authority) {
  const std::string_view port = scheme == "https" ? ":443" : ":80";
  if (authority.ends_with(port)) authority.remove_suffix(port.size());
  return std::string(authority);
}

std::string encode_query(const NameValues& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    text += text.empty() ? '?' : '&';
    text += uri_encode(name, /*keep_slash=*/false);
    text += '=';
    text += uri_encode(value, /*keep_slash=*/false);
  }
  return text;
}

}  // namespace

RequestBuilder::RequestBuilder(const BucketAddress& address, CredentialSource& credentials,
                               const Clock& clock)
    : bucket_(address.bucket),
      endpoint_url_(address.url),
      region_(address.region),
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
  host_ = without_default_port(scheme, authority);
}

Result<HttpRequest> RequestBuilder::build(const RequestSpec& spec) {
  Result<Credentials> credentials = credentials_.get();
  if (!credentials) return std::unexpected(std::move(credentials.error()));
  const std::string path = path_base_ + uri_encode(spec.key, /*keep_slash=*/true);
  HttpRequest request;
  request.method = spec.method;
  request.url = base_url_ + path + encode_query(spec.query);
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

  const std::string proof = signature(key_for(credentials.secret_access_key, scope),
                                      string_to_sign(date, scope, canonical_request(to_sign)));
  request.headers.push_back(fmt::format(
      "Authorization: AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
      credentials.access_key_id, scope.to_string(), signed_header_names(to_sign), proof));
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
