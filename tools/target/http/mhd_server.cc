// SPDX-License-Identifier: Apache-2.0
// libmicrohttpd calls back thrice or more per request: the raw URI, the headers, each piece of the
// body, its end. A Pending object, made at the first and freed by the completion callback, carries
// the request through them. The raw URI is kept because Signature Version 4 covers it.
#include "target/http/mhd_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::target {
namespace {

// Per connection. libmicrohttpd reads a body in pieces of half of it, but also clears all of it for
// each request: at 512 KiB that was a third of what a GET costs the server.
constexpr std::size_t kConnectionMemoryBytes = 64 * kKiB;
// More ranks than one node's job has, each with its mount's connections.
constexpr unsigned kConnectionLimit = 8192;
// An idle keep-alive connection costs a thread; clients reconnect without noticing.
constexpr unsigned kIdleTimeoutSeconds = 300;

struct Pending {
  explicit Pending(const char* uri) : raw_uri(uri) {}
  std::string raw_uri;
  std::unique_ptr<Exchange> exchange;
  bool expects_continue = false;
};

bool is_loopback(MHD_Connection* connection) {
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr) return false;
  if (info->client_addr->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::copy_n(reinterpret_cast<const char*>(info->client_addr), sizeof(v4),
                reinterpret_cast<char*>(&v4));
    return (ntohl(v4.sin_addr.s_addr) >> 24) == 127;
  }
  if (info->client_addr->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::copy_n(reinterpret_cast<const char*>(info->client_addr), sizeof(v6),
                reinterpret_cast<char*>(&v6));
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
  }
  return false;
}

MHD_Result collect_header(void* cls, MHD_ValueKind, const char* name, const char* value) {
  static_cast<NameValues*>(cls)->emplace_back(ascii_lower(std::string_view(name)),
                                              value == nullptr ? "" : value);
  return MHD_YES;
}

/// Nothing if the address cannot be decoded.
std::optional<Request> make_request(MHD_Connection* connection, const char* method,
                                    const std::string& raw_uri) {
  Request request;
  request.method = method;
  const std::size_t question = std::min(raw_uri.find('?'), raw_uri.size());
  request.encoded_path = raw_uri.substr(0, question);
  auto path = s3::uri_decode(request.encoded_path);
  auto query =
      parse_query(std::string_view(raw_uri).substr(std::min(question + 1, raw_uri.size())));
  if (!path || !query || !path->starts_with('/')) return std::nullopt;
  request.path = std::move(*path);
  request.query = std::move(*query);
  MHD_get_connection_values(connection, MHD_HEADER_KIND, &collect_header, &request.headers);
  request.from_loopback = is_loopback(connection);
  if (const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)) {
    request.hang_up = [fd = info->connect_fd] { (void)::shutdown(fd, SHUT_RDWR); };
  }
  return request;
}

MHD_Result send(MHD_Connection* connection, Response response) {
  MHD_Response* answer = nullptr;
  auto* file = std::get_if<FileBody>(&response.body);
  if (file != nullptr && file->length_bytes > 0) {
    answer = MHD_create_response_from_fd_at_offset64(file->length_bytes, file->fd.get(),
                                                     file->offset_bytes);
    if (answer != nullptr) (void)file->fd.release();  // libmicrohttpd closes it
  } else {
    // An empty range of a file is an empty text.
    std::string body = file == nullptr ? std::get<std::string>(response.body) : std::string();
    answer = MHD_create_response_from_buffer(body.size(), body.data(), MHD_RESPMEM_MUST_COPY);
  }
  if (answer == nullptr) return MHD_NO;
  for (const auto& [name, value] : response.headers) {
    if (MHD_add_response_header(answer, name.c_str(), value.c_str()) == MHD_NO) {
      log::warn("response header {} cannot be sent: its value is not valid", name);
    }
  }
  const MHD_Result queued =
      MHD_queue_response(connection, static_cast<unsigned>(response.status), answer);
  MHD_destroy_response(answer);
  return queued;
}

void* on_uri(void*, const char* uri, MHD_Connection*) { return new Pending(uri); }

MHD_Result on_request(void* cls, MHD_Connection* connection, const char*, const char* method,
                      const char*, const char* upload_data, std::size_t* upload_data_size,
                      void** request_cls) {
  auto* pending = static_cast<Pending*>(*request_cls);
  if (pending == nullptr) return MHD_NO;
  try {
    if (!pending->exchange) {
      auto request = make_request(connection, method, pending->raw_uri);
      if (!request)
        return send(connection,
                    Response{.status = 400, .headers = {}, .body = "malformed address\n"});
      pending->expects_continue = request->header("expect").has_value();
      pending->exchange = static_cast<Handler*>(cls)->begin(std::move(*request));
      // A client that asked first need not send the body. Others are sending it already, and would
      // take an answer in the middle of it for a broken connection.
      if (pending->expects_continue && pending->exchange->is_decided()) {
        return send(connection, pending->exchange->finish());
      }
      return MHD_YES;
    }
    if (*upload_data_size > 0) {
      pending->exchange->receive(std::as_bytes(std::span(upload_data, *upload_data_size)));
      *upload_data_size = 0;
      return MHD_YES;
    }
    return send(connection, pending->exchange->finish());
  } catch (const std::exception& e) {  // bad_alloc: must not unwind through C
    log::error("request dropped: {}", e.what());
    return MHD_NO;
  }
}

void on_completed(void*, MHD_Connection*, void** request_cls, MHD_RequestTerminationCode) {
  delete static_cast<Pending*>(*request_cls);
  *request_cls = nullptr;
}

__attribute__((format(printf, 2, 0))) void on_log(void*, const char* format, va_list arguments) {
  char line[512];
  std::vsnprintf(line, sizeof(line), format, arguments);
  std::string_view text(line);
  while (text.ends_with('\n')) text.remove_suffix(1);
  log::debug("libmicrohttpd: {}", text);
}

}  // namespace

Result<std::unique_ptr<MhdServer>> MhdServer::start(Listener listener, Handler& handler) {
  std::unique_ptr<MhdServer> server(new MhdServer);
  const unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                         MHD_USE_POLL | MHD_USE_ITC | MHD_USE_ERROR_LOG;
  server->daemon_ =
      MHD_start_daemon(flags, 0, nullptr, nullptr, &on_request, &handler,  //
                       MHD_OPTION_EXTERNAL_LOGGER, &on_log, nullptr,       //
                       MHD_OPTION_LISTEN_SOCKET, listener.socket.get(),    //
                       MHD_OPTION_CONNECTION_LIMIT, kConnectionLimit,      //
                       MHD_OPTION_CONNECTION_TIMEOUT, kIdleTimeoutSeconds,
                       MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemoryBytes,  //
                       MHD_OPTION_URI_LOG_CALLBACK, &on_uri, nullptr,               //
                       MHD_OPTION_NOTIFY_COMPLETED, &on_completed, nullptr, MHD_OPTION_END);
  if (server->daemon_ == nullptr) {
    return fail(ErrorCode::kSystem, "libmicrohttpd did not start; --log-level debug says why");
  }
  (void)listener.socket.release();  // libmicrohttpd closes it
  return server;
}

MhdServer::~MhdServer() {
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
}

}  // namespace s3rdmafs::target
