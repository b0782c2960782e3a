// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include "client/own_descriptor.h"
#include "client/system_calls.h"
#include "s3rdmafs/client/attach_wire.h"

namespace s3rdmafs::client {

/// A connection to the daemon of a mount. Thread-bound; one request at a time.
class Connection {
 public:
  struct Answer {
    attach::Reply reply;
    sys::Descriptor descriptor = {};  ///< with kGet and kOk: of a file at least as long as the part
  };

  /// Nothing where no daemon listens at `path`.
  [[nodiscard]] static std::optional<Connection> connect(const char* path);

  /// Sends a request and waits for its answer. Nothing where the daemon is gone, does not answer in
  /// time, or sends something that is not an answer: the connection is of no more use then.
  /// @param descriptor  to pass along; -1: none
  [[nodiscard]] std::optional<Answer> ask(const attach::Request& request, int descriptor,
                                          std::chrono::milliseconds time);
  /// Sends a request that has no answer, or whose answer hear() gives.
  bool tell(const attach::Request& request) { return send(request, -1); }
  /// The answer to what tell() sent. Nothing as with ask().
  [[nodiscard]] std::optional<Answer> hear(std::chrono::milliseconds time);

 private:
  explicit Connection(OwnDescriptor socket) : socket_(std::move(socket)) {}
  [[nodiscard]] bool send(const attach::Request& request, int descriptor);
  [[nodiscard]] std::optional<Answer> receive();

  OwnDescriptor socket_;
};

}  // namespace s3rdmafs::client
