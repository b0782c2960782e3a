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

/// Where the daemon of a mount point takes requests: beside its stats socket.
[[nodiscard]] std::string control_socket_path(std::string_view mount_point);

/// What somebody asked a daemon for. Thread-bound.
class ControlRequest {
 public:
  ControlRequest(int socket, std::stop_token stop, std::vector<std::string> words)
      : socket_(socket), stop_(std::move(stop)), words_(std::move(words)) {}

  [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }
  /// Sends one line; line breaks in it become "?". False: nobody reads it.
  bool say(std::string line);
  /// Whether the client still waits, and the mount goes on.
  [[nodiscard]] bool is_wanted() const;

 private:
  const int socket_;
  const std::stop_token stop_;
  const std::vector<std::string> words_;
  bool has_left_ = false;
};

/// Takes requests for a daemon on a UNIX socket that only the mount's own user and root can connect
/// to. A request is words, each ended by a NUL, up to the end of what the client sends; the answer
/// is lines of text, up to the end of the connection. One request at a time: others wait. A client
/// that has not sent all of its request after 5 s is hung up on.
class ControlSocket {
 public:
  /// Blocks for as long as the request takes; on the socket's thread.
  using Answer = std::function<void(ControlRequest&)>;

  /// Errors: kSystem. A name left behind by a daemon that died is taken over.
  [[nodiscard]] static Result<std::unique_ptr<ControlSocket>> listen(std::string path,
                                                                     Answer answer);
  /// Waits for the request under way.
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  /// No further request is taken, and the one under way is no longer wanted.
  void stop() { thread_.request_stop(); }

 private:
  ControlSocket(std::string path, Answer answer, UniqueFd listener);
  void run(const std::stop_token& stop);

  const std::string path_;
  const Answer answer_;
  UniqueFd listener_;
  std::jthread thread_;  // last: ends before what it uses
};

/// Sends a request; the answer is to be read from what it gives. Errors: kNotFound (no daemon
/// there), kSystem.
[[nodiscard]] Result<UniqueFd> send_request(const std::string& path,
                                            const std::vector<std::string>& words);

}  // namespace s3rdmafs::daemon
