// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/host_port.h"

#include <charconv>
#include <memory>

#include <curl/curl.h>

namespace s3rdmafs::daemon {

// libcurl splits the URL, since libcurl will use it.
HostPort host_port_of(const std::string& url) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parts(curl_url(), curl_url_cleanup);
  HostPort result;
  if (curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return result;
  const auto part = [&parts](CURLUPart which) {
    char* text = nullptr;
    curl_url_get(parts.get(), which, &text, CURLU_DEFAULT_PORT);
    const std::unique_ptr<char, void (*)(void*)> owned(text, curl_free);
    return std::string(text == nullptr ? "" : text);
  };
  result.host = part(CURLUPART_HOST);
  const std::string port = part(CURLUPART_PORT);
  std::from_chars(port.data(), port.data() + port.size(), result.port);
  return result;
}

bool is_this_host(const std::string& host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

}  // namespace s3rdmafs::daemon
