// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon {

/// The path of the control socket of a mount point, next to its stats socket.
[[nodiscard]] std::string control_socket_path(std::string_view mount_point);
/// The socket for recordings, which go on while a request on the other takes its time.
[[nodiscard]] std::string record_socket_path(std::string_view mount_point);

/// One request to a daemon, and the connection to answer on. Thread-bound.
class ControlRequest {
 public:
  ControlRequest(int socket, std::stop_token stop, std::vector<std::string> words)
      : socket_(socket), stop_(std::move(stop)), words_(std::move(words)) {}

  [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }
  /// Sends one line of the answer; line breaks in it become "?". Blocks for 5 s at most.
  /// @return false where the client is gone
  bool say(std::string line);
  /// Whether the client still waits and the mount is not ending.
  [[nodiscard]] bool is_wanted() const;

 private:
  const int socket_;
  const std::stop_token stop_;
  const std::vector<std::string> words_;
  bool has_left_ = false;
};

/// Serves requests to a daemon on a UNIX socket, to which only the mount's own user and root can
/// connect. A request is a sequence of words, each ended by a NUL; the client then shuts its side
/// down. The answer is lines of text up to the end of the connection. Requests are served one at a
/// time, on the socket's own thread. A client that has not sent its request after 5 s is
/// disconnected.
class ControlSocket {
 public:
  /// Answers one request. Runs on the socket's thread and may block it.
  using Answer = std::function<void(ControlRequest&)>;

  /// Errors: kSystem. The socket file of a daemon that died is taken over.
  /// @param thread  the name of the socket's thread; a literal
  [[nodiscard]] static Result<std::unique_ptr<ControlSocket>> listen(
      std::string path, Answer answer, const char* thread = "control");
  /// Waits for the request under way, and removes the socket file.
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  /// Takes no further request, and tells the one under way to end. Does not wait. Any thread.
  void stop() { thread_.request_stop(); }

 private:
  ControlSocket(std::string path, Answer answer, const char* thread, UniqueFd listener);
  void run(const std::stop_token& stop, const char* name);

  const std::string path_;
  const Answer answer_;
  UniqueFd listener_;
  std::jthread thread_;  // last: ends before the members it uses
};

/// Sends a request. The answer can be read from the socket that it returns, up to its end.
/// Errors: kNotFound (no daemon listens there), kSystem.
[[nodiscard]] Result<UniqueFd> send_request(const std::string& path,
                                            const std::vector<std::string>& words);

}  // namespace s3rdmafs::daemon
