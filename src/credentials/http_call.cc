// SPDX-License-Identifier: Apache-2.0
#include "credentials/http_call.h"

#include <tuple>

#include "net/curl_handles.h"
#include "net/set_connection.h"
#include "s3/wire/server_text.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::credentials {
namespace {

// The answers have some kilobytes; a proxy's page is not one of them.
constexpr std::size_t kBodyBytesMax = 256 * kKiB;
// A service across the network may have to wake up; one on this host answers at once, or is not
// there, as on most machines.
constexpr std::chrono::seconds kTimeMax{20};
constexpr std::chrono::seconds kTimeMaxOnThisHost{2};

std::size_t take_bytes(char* bytes, std::size_t, std::size_t count, void* body) {
  auto& text = *static_cast<std::string*>(body);
  if (text.size() + count > kBodyBytesMax) return 0;  // libcurl then fails with CURLE_WRITE_ERROR
  text.append(bytes, count);
  return count;
}

int on_progress(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

std::unexpected<Error> failed(const HttpCall& call, CURL* handle, CURLcode code) {
  const std::string detail = fmt::format("{}: {}{}", call.url, curl_easy_strerror(code),
                                         net::advice_for(handle, code, {}));
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return fail(ErrorCode::kTimedOut, detail);
    case CURLE_ABORTED_BY_CALLBACK:
      return fail(ErrorCode::kCancelled, detail);
    case CURLE_WRITE_ERROR:
      return fail(ErrorCode::kProtocol, call.url + ": the answer is too long");
    default:
      return fail(ErrorCode::kUnreachable, detail);
  }
}

}  // namespace

Result<HttpAnswer> call_http(const HttpCall& call, const std::stop_token& stop) {
  const net::CurlEasy easy(curl_easy_init());
  net::CurlList headers;
  for (const std::string& header : call.headers) {
    if (s3::has_control_character(header)) {
      return fail(ErrorCode::kProtocol, fmt::format("{}: the header {} has control characters",
                                                    call.url, header.substr(0, header.find(':'))));
    }
    curl_slist* const longer = curl_slist_append(headers.get(), header.c_str());
    if (longer == nullptr) return fail(ErrorCode::kNoMemory, "no memory for a request");
    std::ignore = headers.release();
    headers.reset(longer);
  }
  if (!easy) return fail(ErrorCode::kNoMemory, "no memory for a request");
  HttpAnswer answer;
  CURL* const handle = easy.get();
  const auto time = call.is_on_this_host ? kTimeMaxOnThisHost : kTimeMax;
  curl_easy_setopt(handle, CURLOPT_URL, call.url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  if (call.method == "POST") {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, static_cast<long>(call.body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, call.body.c_str());
  }
  net::set_tls(handle, call.connection);
  if (call.is_on_this_host) {
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
  } else {
    net::set_proxy(handle, call.connection, call.url);
  }
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);  // does not wait for a name server
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS,
                   static_cast<long>(std::chrono::milliseconds(time).count()));
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &take_bytes);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &on_progress);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &stop);
  const CURLcode code = curl_easy_perform(handle);
  if (code != CURLE_OK) return failed(call, handle, code);
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

}  // namespace s3rdmafs::credentials
