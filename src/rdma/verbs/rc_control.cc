// SPDX-License-Identifier: Apache-2.0
//
// Blocking, on the pool's own thread, and over a connection of its own: it must not wait in line
// behind object requests, which wait for what it brings.
#include "rdma/verbs/rc_control.h"

#include <chrono>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::rdma::verbs {
namespace {

// A lost SYN or two; the server makes a queue pair, which takes it some milliseconds.
constexpr std::chrono::milliseconds kConnectTimeout{3000};
constexpr std::chrono::milliseconds kTimeout{5000};

struct FreeList {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

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

bool is_loopback(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end != std::string_view::npos) url.remove_prefix(scheme_end + 3);
  return url.starts_with("127.") || url.starts_with("localhost") || url.starts_with("[::1]");
}

}  // namespace

RcControl::RcControl(Options options)
    : options_(std::move(options)), easy_(curl_easy_init(), curl_easy_cleanup) {}

Result<RcControl::Answer> RcControl::post(std::string_view path, const std::string& header) {
  if (cancelled_) return fail(ErrorCode::kCancelled, "the mount is going down");
  CURL* const easy = easy_.get();
  if (easy == nullptr) return fail(ErrorCode::kNoMemory, "curl_easy_init failed");
  curl_easy_reset(easy);
  HeaderList headers;
  const auto add = [&headers](const std::string& line) {
    headers.reset(curl_slist_append(headers.release(), line.c_str()));
  };
  for (std::size_t at = 0; at < header.size();) {
    const std::size_t end = header.find('\n', at);
    add(header.substr(at, end - at));
    at = end + 1;
  }
  add("Content-Type: application/octet-stream");
  add("Expect:");
  const std::string url = options_.endpoint_url + std::string(path);
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, 0L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kConnectTimeout.count()));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(kTimeout.count()));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore_body);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, is_cancelled);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &cancelled_);
  if (!options_.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
  }
  if (is_loopback(options_.endpoint_url)) curl_easy_setopt(easy, CURLOPT_PROXY, "");

  const CURLcode code = curl_easy_perform(easy);
  if (code == CURLE_ABORTED_BY_CALLBACK) {
    return fail(ErrorCode::kCancelled, "the mount is going down");
  }
  if (code != CURLE_OK) {
    return fail(code == CURLE_OPERATION_TIMEDOUT ? ErrorCode::kTimedOut : ErrorCode::kUnreachable,
                fmt::format("{}{}: {}", options_.endpoint_url, path, curl_easy_strerror(code)));
  }
  Answer answer;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer.status);
  answer.session_id = header_of(easy, rc::kSessionHeader);
  answer.reply = header_of(easy, rc::kReplyHeader);
  answer.psn = header_of(easy, rc::kPsnHeader);
  return answer;
}

Result<RcControl::Accepted> RcControl::connect(const rc::Endpoint& client,
                                               std::uint32_t client_psn) {
  auto answer = post(rc::kConnectPath,
                     fmt::format("{}: {}\n{}: {}\n", rc::kTokenHeader, rc::format_endpoint(client),
                                 rc::kPsnHeader, rc::format_psn(client_psn)));
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
      return refused(ErrorCode::kThrottled, "has no RC session left");
    default:
      return refused(ErrorCode::kServerError, "refused an RC session");
  }
  const auto server = rc::parse_reply(answer->reply);
  const auto psn = rc::parse_psn(answer->psn);
  if (!server || !psn || !rc::is_session_id(answer->session_id)) {
    return refused(ErrorCode::kProtocol, "answered an RC session with headers that make no sense");
  }
  return Accepted{
      .session_id = std::move(answer->session_id), .server = *server, .server_psn = *psn};
}

void RcControl::disconnect(const std::string& session_id) {
  if (auto answer =
          post(rc::kDisconnectPath, fmt::format("{}: {}\n", rc::kSessionHeader, session_id));
      !answer) {
    spdlog::debug("rc: {}", answer.error().detail);  // the server drops it by itself
  }
}

}  // namespace s3rdmafs::rdma::verbs
