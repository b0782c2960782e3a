// SPDX-License-Identifier: Apache-2.0
#include "fakes/s3/scripted_http_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "s3rdmafs/base/ascii.h"

namespace s3rdmafs::fakes {
namespace {

/// Bounds every wait in a test that has gone wrong.
constexpr std::chrono::seconds kWaitMax{10};

/// For each connection, both directions: room for a header that no client should take.
constexpr std::size_t kConnectionBytes = 1024UL * 1024;

struct ResponseDelete {
  void operator()(MHD_Response* response) const noexcept { MHD_destroy_response(response); }
};

MHD_Result collect_header(void* headers, MHD_ValueKind, const char* name, const char* value) {
  (*static_cast<std::map<std::string, std::string>*>(headers))[ascii_lower(name)] =
      value == nullptr ? "" : value;
  return MHD_YES;
}

MHD_Result collect_argument(void* query, MHD_ValueKind, const char* name, const char* value) {
  auto& text = *static_cast<std::string*>(query);
  if (!text.empty()) text += '&';
  text += name;
  if (value != nullptr && *value != '\0') text += std::string("=") + value;
  return MHD_YES;
}

void free_request(void*, MHD_Connection*, void** context, MHD_RequestTerminationCode) {
  delete static_cast<std::string*>(*context);
  *context = nullptr;
}

/// Gives out the body, then an error, which closes the connection in mid-answer.
ssize_t read_body(void* body, std::uint64_t position, char* buffer, std::size_t room) {
  const auto& text = *static_cast<const std::string*>(body);
  if (position >= text.size()) return MHD_CONTENT_READER_END_WITH_ERROR;
  const std::size_t count = std::min<std::size_t>(room, text.size() - position);
  std::memcpy(buffer, text.data() + position, count);
  return static_cast<ssize_t>(count);
}

void delete_body(void* body) { delete static_cast<std::string*>(body); }

MHD_Response* make_response(const ScriptedAnswer& answer) {
  constexpr std::size_t kBlockBytes = 64UL * 1024;
  if (answer.announced_bytes) {
    return MHD_create_response_from_callback(*answer.announced_bytes, kBlockBytes, &read_body,
                                             new std::string(answer.body), &delete_body);
  }
  std::string copy = answer.body;
  return MHD_create_response_from_buffer(copy.size(), copy.data(), MHD_RESPMEM_MUST_COPY);
}

}  // namespace

void ScriptedHttpServer::DaemonStop::operator()(MHD_Daemon* daemon) const noexcept {
  MHD_stop_daemon(daemon);
}

ScriptedHttpServer::ScriptedHttpServer() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto handler = [](void* self, MHD_Connection* connection, const char* url,
                          const char* method, const char* version, const char* upload,
                          std::size_t* upload_bytes, void** context) {
    return on_request(self, connection, url, method, version, upload, upload_bytes, context) != 0
               ? MHD_YES
               : MHD_NO;
  };
  daemon_.reset(MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, nullptr, nullptr,
      +handler, this, MHD_OPTION_SOCK_ADDR, reinterpret_cast<sockaddr*>(&address),
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes, MHD_OPTION_NOTIFY_COMPLETED,
      &free_request, nullptr, MHD_OPTION_UNESCAPE_CALLBACK,
      +[](void*, MHD_Connection*, char* text) { return std::strlen(text); }, nullptr,
      MHD_OPTION_END));
  if (daemon_ == nullptr) throw std::runtime_error("no HTTP server for the test");
}

ScriptedHttpServer::~ScriptedHttpServer() { release(); }

std::string ScriptedHttpServer::url() const {
  const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_.get(), MHD_DAEMON_INFO_BIND_PORT);
  return "http://127.0.0.1:" + std::to_string(info->port);
}

void ScriptedHttpServer::then(ScriptedAnswer answer) {
  const MutexLock lock(mutex_);
  script_.push_back(std::move(answer));
}

void ScriptedHttpServer::release() {
  {
    const MutexLock lock(mutex_);
    is_released_ = true;
  }
  changed_.notify_all();
}

std::vector<SeenRequest> ScriptedHttpServer::seen() const {
  const MutexLock lock(mutex_);
  return seen_;
}

bool ScriptedHttpServer::wait_for_requests(std::size_t count) const {
  const auto deadline = std::chrono::steady_clock::now() + kWaitMax;
  const MutexLock lock(mutex_);
  while (seen_.size() < count) {
    if (!changed_.wait_until(mutex_, deadline)) return seen_.size() >= count;
  }
  return true;
}

void ScriptedHttpServer::answer_by(std::function<ScriptedAnswer(const SeenRequest&)> answer) {
  const MutexLock lock(mutex_);
  answer_ = std::move(answer);
}

std::function<ScriptedAnswer(const SeenRequest&)> ScriptedHttpServer::current_answer() const {
  const MutexLock lock(mutex_);
  return answer_;
}

std::optional<ScriptedAnswer> ScriptedHttpServer::take_answer(SeenRequest request) {
  if (const auto answer_by = current_answer()) {
    ScriptedAnswer answer = answer_by(request);
    if (answer.cut) return std::nullopt;
    return answer;
  }
  const auto deadline = std::chrono::steady_clock::now() + kWaitMax;
  const MutexLock lock(mutex_);
  seen_.push_back(std::move(request));
  changed_.notify_all();
  if (script_.empty()) return std::nullopt;
  ScriptedAnswer answer = script_.front();
  if (script_.size() > 1) script_.pop_front();
  while (answer.hold && !is_released_) {
    if (!changed_.wait_until(mutex_, deadline)) return std::nullopt;
  }
  if (answer.cut) return std::nullopt;
  return answer;
}

int ScriptedHttpServer::on_request(void* self, MHD_Connection* connection, const char* url,
                                   const char* method, const char*, const char* upload,
                                   std::size_t* upload_bytes, void** context) noexcept {
  // The first call brings the head only; an answer given there would close the connection. Then
  // come pieces of the body, and a last call without any.
  if (*context == nullptr) {
    *context = new std::string();
    return MHD_YES;
  }
  auto& body = *static_cast<std::string*>(*context);
  if (*upload_bytes > 0) {
    body.append(upload, *upload_bytes);
    *upload_bytes = 0;
    return MHD_YES;
  }
  SeenRequest request{.method = method, .url = url, .headers = {}, .body = std::move(body)};
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &collect_argument, &request.query);
  MHD_get_connection_values(connection, MHD_HEADER_KIND, &collect_header, &request.headers);
  const auto* client = reinterpret_cast<const sockaddr_in*>(
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
  std::array<char, INET_ADDRSTRLEN> text{};
  request.client_address = inet_ntop(AF_INET, &client->sin_addr, text.data(), text.size());
  request.client_port = ntohs(client->sin_port);
  const auto answer = static_cast<ScriptedHttpServer*>(self)->take_answer(std::move(request));
  if (!answer) return MHD_NO;
  const std::unique_ptr<MHD_Response, ResponseDelete> response(make_response(*answer));
  for (const auto& [name, value] : answer->headers) {
    MHD_add_response_header(response.get(), name.c_str(), value.c_str());
  }
  return MHD_queue_response(connection, answer->status, response.get());
}

}  // namespace s3rdmafs::fakes
