// SPDX-License-Identifier: Apache-2.0
// Another socket than that of `s3rdmafs stats`: that one is for the mount's user alone, and HTTP
// there would make each client send a request first. libmicrohttpd serves all connections on one
// thread without waiting for any, so a client that does not read holds up no other. Each scrape
// gets a text of its own, and nothing of a request is used but method and path.
#include "metrics/scrape_listener.h"

#include <microhttpd.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "metrics/listen_address.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::metrics {
namespace {

constexpr std::string_view kUnix = "unix:";
// Of one connection: the headers of its request. Longer ones get 431.
constexpr std::size_t kConnectionMemoryBytes = std::size_t{16} * 1024;

MHD_Result answer(MHD_Connection* connection, unsigned status, std::string text, const char* type) {
  MHD_Response* const response =
      MHD_create_response_from_buffer(text.size(), text.data(), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  const MHD_Result queued = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return queued;
}

// libmicrohttpd calls it once for the headers of a request, again for each part of a body, and at
// the end without a part. `seen` is its memory between them.
MHD_Result on_request(void* registry, MHD_Connection* connection, const char* url,
                      const char* method, const char*, const char*, std::size_t* body_bytes,
                      void** seen) noexcept {
  static char mark = 0;
  set_thread_name("metrics");
  const bool is_first = std::exchange(*seen, &mark) == nullptr;
  const std::string_view verb = method;
  if (verb != "GET" && verb != "HEAD") {
    return is_first ? answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n", "text/plain")
                    : MHD_YES;
  }
  if (is_first) return MHD_YES;
  if (*body_bytes != 0) return MHD_NO;
  if (std::string_view(url) != "/metrics") {
    return answer(connection, MHD_HTTP_NOT_FOUND, "only /metrics is here\n", "text/plain");
  }
  return answer(connection, MHD_HTTP_OK, static_cast<const Registry*>(registry)->prometheus_text(),
                "text/plain; version=0.0.4; charset=utf-8");
}

void on_log(void*, const char* format, va_list arguments) noexcept {
  char line[512];
  std::vsnprintf(line, sizeof(line), format, arguments);
  std::string_view text(line);
  while (text.ends_with('\n')) text.remove_suffix(1);
  log::debug("metrics: {}", text);
}

}  // namespace

Result<std::unique_ptr<ScrapeListener>> ScrapeListener::listen(const Registry& registry,
                                                               const Options& options) {
  std::unique_ptr<ScrapeListener> made(new ScrapeListener);
  const bool is_unix = options.address.starts_with(kUnix);
  const std::string path = is_unix ? options.address.substr(kUnix.size()) : std::string();
  auto socket = is_unix ? listen_on_shared_socket(path, options.mode, options.group)
                        : listen_on_tcp(options.address);
  if (!socket) {
    return fail(socket.error().code, "metrics.listen: " + socket.error().detail);
  }
  made->socket_path_ = path;
  void* const context = const_cast<Registry*>(&registry);
  made->daemon_ =
      MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO | MHD_USE_ERROR_LOG, 0,
                       nullptr, nullptr, &on_request, context,        //
                       MHD_OPTION_EXTERNAL_LOGGER, &on_log, nullptr,  //
                       MHD_OPTION_LISTEN_SOCKET, socket->get(),       //
                       MHD_OPTION_CONNECTION_LIMIT, kConnectionsMax,  //
                       MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,   //
                       MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemoryBytes, MHD_OPTION_END);
  if (made->daemon_ == nullptr) {
    return fail(ErrorCode::kSystem, "metrics.listen: libmicrohttpd did not start");
  }
  static_cast<void>(socket->release());  // libmicrohttpd closes it
  return made;
}

ScrapeListener::~ScrapeListener() {
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  if (!socket_path_.empty()) ::unlink(socket_path_.c_str());
}

}  // namespace s3rdmafs::metrics
