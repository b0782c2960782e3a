// SPDX-License-Identifier: Apache-2.0
//
// Blocks the pool's own thread and has a connection of its own: it must not queue after object
// requests, which wait for the session that it makes.
#include "rdma/verbs/rc_control.h"

#include <array>
#include <chrono>

#include "net/set_connection.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::rdma::verbs {
namespace {

// A lost SYN or two; the server makes a queue pair, which takes it some milliseconds.
constexpr std::chrono::milliseconds kConnectTimeout{3000};
constexpr std::chrono::milliseconds kTimeout{5000};

std::size_t ignore_body(char*, std::size_t size, std::size_t count, void*) { return size * count; }

int is_cancelled(void* flag, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<std::atomic<bool>*>(flag)->load() ? 1 : 0;
}

std::string header_of(CURL* easy, std::string_view name) {
  curl_header* header = nullptr;
  if (curl_easy_header(easy, std::string(name).c_str(), 0, CURLH_HEADER, -1, &header) !=
      CURLHE_OK) {
    return {};
  }
  return header->value;
}

}  // namespace

RcControl::RcControl(Options options) : options_(std::move(options)), easy_(curl_easy_init()) {}

Result<RcControl::Answer> RcControl::post(std::string_view path, std::span<const Header> sent) {
  if (cancelled_) return fail(ErrorCode::kCancelled, "the mount is going down");
  CURL* const easy = easy_.get();
  if (easy == nullptr) return fail(ErrorCode::kNoMemory, "curl_easy_init failed");
  net::CurlList headers;
  const auto add = [&headers](const std::string& line) {
    headers.reset(curl_slist_append(headers.release(), line.c_str()));
  };
  for (const Header& header : sent) add(fmt::format("{}: {}", header.name, header.value));
  add("Content-Type: application/octet-stream");
  add("Expect:");
  set_options(path, headers.get());
  const CURLcode code = curl_easy_perform(easy);
  if (code == CURLE_ABORTED_BY_CALLBACK) {
    return fail(ErrorCode::kCancelled, "the mount is going down");
  }
  if (code != CURLE_OK) {
    return fail(code == CURLE_OPERATION_TIMEDOUT ? ErrorCode::kTimedOut : ErrorCode::kUnreachable,
                fmt::format("{}{}: {}{}", options_.endpoint_url, path, curl_easy_strerror(code),
                            net::advice_for(easy, code, {})));
  }
  Answer answer;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer.status);
  answer.session_id = header_of(easy, rc::kSessionHeader);
  answer.reply = header_of(easy, rc::kReplyHeader);
  answer.psn = header_of(easy, rc::kPsnHeader);
  return answer;
}

// libcurl copies the texts, but borrows the headers until the request is over.
void RcControl::set_options(std::string_view path, curl_slist* headers) {
  CURL* const easy = easy_.get();
  curl_easy_reset(easy);
  const std::string url = options_.endpoint_url + std::string(path);
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, 0L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kConnectTimeout.count()));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(kTimeout.count()));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore_body);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, is_cancelled);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &cancelled_);
  net::set_tls(easy, options_.connection);
  net::set_proxy(easy, options_.connection, options_.endpoint_url);
}

Result<RcControl::Accepted> RcControl::connect(const rc::Endpoint& client,
                                               std::uint32_t client_psn) {
  auto answer =
      post(rc::kConnectPath, std::to_array<Header>({{rc::kTokenHeader, rc::format_endpoint(client)},
                                                    {rc::kPsnHeader, rc::format_psn(client_psn)}}));
  if (!answer) return std::unexpected(std::move(answer.error()));
  const auto refused = [&](ErrorCode code, std::string_view what) {
    return fail(code, fmt::format("{} {} (HTTP {})", options_.endpoint_url, what, answer->status));
  };
  switch (answer->status) {
    case 200:
      break;
    case 403:
    case 404:
    case 405:
    case 501:
      return refused(ErrorCode::kUnsupported, "does not speak the rc dialect");
    case 503:
      return refused(ErrorCode::kThrottled, "has no free RC session");
    default:
      return refused(ErrorCode::kServerError, "refused an RC session");
  }
  const auto server = rc::parse_reply(answer->reply);
  const auto psn = rc::parse_psn(answer->psn);
  if (!server || !psn || !rc::is_session_id(answer->session_id)) {
    return refused(ErrorCode::kProtocol, "accepted an RC session with malformed headers");
  }
  return Accepted{
      .session_id = std::move(answer->session_id), .server = *server, .server_psn = *psn};
}

void RcControl::disconnect(const std::string& session_id) {
  auto answer =
      post(rc::kDisconnectPath, std::to_array<Header>({{rc::kSessionHeader, session_id}}));
  if (!answer) {
    log::debug("rc: {}", answer.error().detail);  // the server drops it by itself
  }
}

}  // namespace s3rdmafs::rdma::verbs
