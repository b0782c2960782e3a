// SPDX-License-Identifier: Apache-2.0
//
// Was the server reached? libcurl calls on_send() when a connection stands, just before it sends
// the request. Until then the server has seen nothing; from then on it may have seen all, whatever
// error follows. libcurl sends a request once more if a kept-alive connection turns out to be dead.
// The first copy of a token may have reached the server by then, so on_send() refuses the second.
#include "s3/http/curl_transfer.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "net/set_connection.h"
#include "s3/wire/server_text.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

/// libcurl's own buffer for bodies. A large one makes reads from the socket fewer. More than 256
/// KiB has no effect over loopback or a local network, whose sockets hold no more, and each busy
/// handle has a buffer.
constexpr long kReceiveBufferBytes = 256L * 1024;

/// For answers with little or no text. libcurl allocates and frees the buffer with each transfer,
/// and malloc gives larger ones back to the kernel each time.
constexpr long kSmallReceiveBufferBytes = 16L * 1024;

/// The same for bodies that are sent.
constexpr long kSendBufferBytes = 256L * 1024;

/// A connection that was idle for longer is not used again. Servers close theirs after 20 s or
/// more, and a request that crosses the closing must be sent again.
constexpr long kIdleSecondsMax = 15;

/// Never 0, which libcurl takes for "no time-out". Rounded up, so that the deadline has passed when
/// its time-out fires.
long to_timeout_ms(std::chrono::steady_clock::duration time) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  return static_cast<long>(std::max<decltype(ms)>(1, ms));
}

ErrorCode error_code_of(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:  // HTTP/0.9
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:  // a header
#endif
      return ErrorCode::kProtocol;
    case CURLE_URL_MALFORMAT:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
      return ErrorCode::kConfig;
    case CURLE_OUT_OF_MEMORY:
      return ErrorCode::kNoMemory;
    default:
      return ErrorCode::kUnreachable;
  }
}

/// Whether an answer failed because its headers are longer than libcurl takes (100 KiB one, 300 KiB
/// all). Its code for that varies; before 8.6 it is the one for a lack of memory.
bool is_about_headers(CURLcode code, std::string_view text) {
  return code == CURLE_OUT_OF_MEMORY ||
         (code == CURLE_RECV_ERROR && text.starts_with("Too large response headers"));
}

bool is_failed_connect(CURLcode code) {
  return code == CURLE_COULDNT_CONNECT || code == CURLE_INTERFACE_FAILED ||
         code == CURLE_OPERATION_TIMEDOUT;
}

}  // namespace

CurlTransfer::CurlTransfer(const TransferOptions& options)
    : options_(options), easy_(curl_easy_init()) {
  if (easy_ == nullptr) throw std::bad_alloc();
  set_options();
}

void CurlTransfer::set_options() {
  CURL* easy = easy_.get();
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_text_.data());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &CurlTransfer::on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &CurlTransfer::on_send);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, this);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  // HTTP/2 would send many requests over one connection, and RDMA servers choose the rail by
  // connection.
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);  // keys may hold "/../"
  curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, kSendBufferBytes);
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, kIdleSecondsMax);
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "s3rdmafs");
  net::set_tls(easy, options_.connection);
}

CurlTransfer& CurlTransfer::of(CURL* easy) {
  char* self = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
  return *reinterpret_cast<CurlTransfer*>(self);
}

void CurlTransfer::begin(HttpRequest request, HttpDone done,
                         std::chrono::steady_clock::time_point now) {
  request_ = std::move(request);
  done_ = std::move(done);
  response_ = {};
  times_sent_ = 0;
  error_text_.front() = '\0';

  curl_slist* list = nullptr;
  for (const std::string& line : request_.headers) list = curl_slist_append(list, line.c_str());
  // Otherwise libcurl waits up to a second for a "100 Continue" that many servers never send.
  if (!request_.body.empty()) list = curl_slist_append(list, "Expect:");
  header_list_.reset(list);
  CURL* easy = easy_.get();
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(easy, CURLOPT_URL, request_.url.c_str());
  net::set_proxy(easy, options_.connection, request_.url);
  // libcurl reuses a connection only if it was bound to the same address. Since 8.9 it misses that
  // in the form "host!ADDRESS". The text is copied.
  const std::string& source = request_.source_address;
  curl_easy_setopt(easy, CURLOPT_INTERFACE, source.empty() ? nullptr : source.c_str());
  const bool expects_body = !request_.body_into.empty() && !request_.has_rdma_token;
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE,
                   expects_body ? kReceiveBufferBytes : kSmallReceiveBufferBytes);
  set_method();
  const auto left = request_.deadline - now;
  using Duration = std::chrono::steady_clock::duration;
  const Duration attempt =
      options_.connect_timeout +
      (request_.has_rdma_token ? options_.rdma_timeout : options_.request_timeout) +
      request_.extra_time;
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, to_timeout_ms(std::min<Duration>(attempt, left)));
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   to_timeout_ms(std::min<Duration>(options_.connect_timeout, left)));
}

// PUT is sent as a POST with another name. Of libcurl's ways to send a body only POST reads
// straight from our memory and can start again by itself after a dead connection.
void CurlTransfer::set_method() {
  CURL* easy = easy_.get();
  const HttpMethod method = request_.method;
  const bool has_own_name = method == HttpMethod::kPut || method == HttpMethod::kDelete;
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, has_own_name ? method_name(method) : nullptr);
  if (method == HttpMethod::kPut || method == HttpMethod::kPost) {
    // With a null pointer libcurl would ask a callback for the body.
    const void* body = request_.body.empty() ? "" : static_cast<const void*>(request_.body.data());
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request_.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
  } else if (method == HttpMethod::kHead) {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
  }
}

HttpOutcome CurlTransfer::outcome(CURLcode code, std::chrono::steady_clock::time_point now) {
  if (!response_.headers.unusable.empty()) return unusable_header();
  if (code == CURLE_OK || response_.body_is_too_long) return std::move(response_);
  HttpFailure failure{.error = {error_code_of(code), ""},
                      .may_have_reached_server = times_sent_ > 0};
  const char* text = error_text_.front() != '\0' ? error_text_.data() : curl_easy_strerror(code);
  if (times_sent_ > 0 && is_about_headers(code, text)) {
    failure.error.code = ErrorCode::kProtocol;
    text = "the answer has a header that is too long";
  }
  if (code == CURLE_OPERATION_TIMEDOUT) {
    failure.was_silent = failure.may_have_reached_server;
    if (now >= request_.deadline) failure.error.code = ErrorCode::kTimedOut;
  }
  failure.no_connection_from_source =
      !request_.source_address.empty() && times_sent_ == 0 && is_failed_connect(code);
  failure.was_connect_time_out =
      failure.no_connection_from_source && code == CURLE_OPERATION_TIMEDOUT;
  // Without the query, which is long for a listing and explains nothing.
  const std::string_view url = request_.url;
  failure.error.detail = fmt::format("{}: {}{}", url.substr(0, url.find('?')), text,
                                     net::advice_for(easy_.get(), code, text));
  return std::unexpected(std::move(failure));
}

HttpOutcome CurlTransfer::unusable_header() const {
  const std::string_view url = request_.url;
  return std::unexpected(HttpFailure{
      .error = {ErrorCode::kProtocol,
                fmt::format("{}: the answer's header '{}' has control characters or is longer than "
                            "{} bytes",
                            url.substr(0, url.find('?')), response_.headers.unusable,
                            kHeaderValueBytesMax)},
      .may_have_reached_server = times_sent_ > 0});
}

HttpOutcome CurlTransfer::cancelled() const {
  return std::unexpected(HttpFailure{.error = {ErrorCode::kCancelled, "the mount is going down"},
                                     .may_have_reached_server = times_sent_ > 0});
}

HttpOutcome CurlTransfer::given_up() const {
  return std::unexpected(
      HttpFailure{.error = {ErrorCode::kUnreachable,
                            "the server is slow; the read was given up to ask another server"},
                  .may_have_reached_server = times_sent_ > 0,
                  .was_hedged = true});
}

HttpDone CurlTransfer::finish() {
  request_ = {};
  return std::move(done_);
}

std::size_t CurlTransfer::on_header(char* data, std::size_t size, std::size_t count,
                                    void* self) noexcept {
  const std::string_view line(data, size * count);
  auto& response = static_cast<CurlTransfer*>(self)->response_;
  if (line.starts_with("HTTP/")) {
    response.headers = {};  // those before were of a 1xx answer
  } else {
    response.headers.add_line(line, static_cast<CurlTransfer*>(self)->options_.rdma_names);
  }
  long status = 0;
  curl_easy_getinfo(static_cast<CurlTransfer*>(self)->easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  response.status = static_cast<int>(status);
  return line.size();
}

std::size_t CurlTransfer::on_body(char* data, std::size_t size, std::size_t count,
                                  void* self) noexcept {
  const std::string_view bytes(data, size * count);
  return static_cast<CurlTransfer*>(self)->take_body(bytes) ? bytes.size() : 0;
}

bool CurlTransfer::take_body(std::string_view bytes) {
  const bool goes_to_span = response_.is_success() && !request_.body_into.empty();
  const std::size_t room = goes_to_span ? request_.body_into.size() : request_.text_bytes_max;
  if (bytes.size() > room - response_.body_bytes) {
    response_.body_is_too_long = true;
    return false;
  }
  if (goes_to_span) {
    std::memcpy(request_.body_into.data() + response_.body_bytes, bytes.data(), bytes.size());
  } else {
    response_.text += bytes;
  }
  response_.body_bytes += bytes.size();
  return true;
}

int CurlTransfer::on_send(void* self, char*, char*, int, int) noexcept {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  const bool is_resend = transfer.times_sent_ > 0;
  ++transfer.times_sent_;
  return is_resend && transfer.request_.send_once ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

}  // namespace s3rdmafs::s3
