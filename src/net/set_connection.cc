// SPDX-License-Identifier: Apache-2.0
#include "net/set_connection.h"

#include "net/system_certificates.h"
#include "s3rdmafs/base/loopback.h"

namespace s3rdmafs::net {
namespace {

/// Whether a new connection ended before any answer, though TLS stood. With TLS 1.3 a server that
/// misses a client's certificate does that: its alert comes after the request, if at all.
bool ended_before_an_answer(CURL* easy, CURLcode code) {
  if (code != CURLE_GOT_NOTHING && code != CURLE_RECV_ERROR && code != CURLE_SEND_ERROR) {
    return false;
  }
  const char* url = nullptr;
  long new_connections = 0;
  long header_bytes = 0;
  curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
  curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &new_connections);
  curl_easy_getinfo(easy, CURLINFO_HEADER_SIZE, &header_bytes);
  return url != nullptr && std::string_view(url).starts_with("https:") && new_connections > 0 &&
         header_bytes == 0;
}

}  // namespace

void set_tls(CURL* easy, const ConnectionOptions& options) {
  const long version =
      options.tls_min == TlsVersion::k13 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2;
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, version);
  const std::string& ca_file = options.ca_file.empty() ? system_certificates() : options.ca_file;
  if (!ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file.c_str());
  if (options.client_certificate.empty()) return;
  curl_easy_setopt(easy, CURLOPT_SSLCERT, options.client_certificate.c_str());
  const std::string& key =
      options.client_key.empty() ? options.client_certificate : options.client_key;
  curl_easy_setopt(easy, CURLOPT_SSLKEY, key.c_str());
  // Without one OpenSSL would ask at the terminal.
  curl_easy_setopt(easy, CURLOPT_KEYPASSWD, "");
}

void set_proxy(CURL* easy, const ConnectionOptions& options, std::string_view url) {
  const bool is_environment = options.proxy == "auto";
  if (options.proxy == "none" || (is_environment && is_loopback_url(url))) {
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
  } else if (is_environment) {
    curl_easy_setopt(easy, CURLOPT_PROXY, nullptr);
  } else {
    curl_easy_setopt(easy, CURLOPT_PROXY, options.proxy.c_str());
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");  // the mount file is stronger than no_proxy
  }
}

std::string_view advice_for(CURL* easy, CURLcode code, std::string_view text) {
  switch (code) {
    case CURLE_SSL_CACERT_BADFILE:
      return " (endpoint.ca_file cannot be used)";
    case CURLE_PEER_FAILED_VERIFICATION:
      return " (the certificate is not trusted: name its authority in endpoint.ca_file)";
    case CURLE_SSL_CERTPROBLEM:
      return " (endpoint.client_certificate and endpoint.client_key must be PEM files that belong "
             "together and need no passphrase)";
    case CURLE_COULDNT_RESOLVE_PROXY:
      return " (check endpoint.proxy, or http_proxy and https_proxy of the environment)";
    default:
      break;
  }
  // The texts of OpenSSL for the alerts that a server sends.
  if (text.contains("alert protocol version") || text.contains("unsupported protocol")) {
    return " (the server speaks no version of TLS that endpoint.tls_min allows)";
  }
  if (text.contains("alert certificate required") || text.contains("alert handshake failure") ||
      text.contains("alert bad certificate") || text.contains("alert unknown ca") ||
      ended_before_an_answer(easy, code)) {
    return " (the server may want another certificate: see endpoint.client_certificate)";
  }
  return "";
}

}  // namespace s3rdmafs::net
