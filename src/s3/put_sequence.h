// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "s3/object_writer.h"
#include "s3/put_exchange.h"
#include "s3/retry_runner.h"
#include "s3/token_policy.h"

namespace s3rdmafs::s3 {

/// What PutObject takes besides its own request, so that no empty object is ever left behind: a
/// probe before it while the endpoint is not known to read by RDMA, and an undo after it where a
/// server stored the wrong thing and could not be given the right one. Thread-safe.
class PutSequence {
 public:
  /// Borrows all for its lifetime.
  PutSequence(TransferShared& shared, RetryRunner& runner, const Clock& clock)
      : shared_(shared), runner_(runner), clock_(clock) {}

  void run(std::string key, PutBody body, bool only_if_absent, Deadline deadline, PutDone done);

 private:
  /// How a probe ended; an error only says that the endpoint is not known to read.
  struct Probed {
    Result<void> result;
    bool late_read_possible = false;
    bool has_fabric = true;
  };
  using ProbedDone = std::move_only_function<void(Probed)>;

  /// A PUT on its way through the steps.
  struct Sequence {
    PutExchange::Put put;
    Deadline deadline;
    PutDone done;
    Endpoint* endpoint = nullptr;    ///< where probe and PUT go if it is alive
    std::size_t endpoints_left = 0;  ///< to be asked first, this one included
    bool late_read_possible = false;
  };

  void begin(Sequence sequence);
  [[nodiscard]] bool needs_probe(Endpoint& endpoint, const PutBody& body);
  void probe(Endpoint& endpoint, std::string key, PutBody body, Deadline deadline, ProbedDone done);
  void create_probe(Endpoint& endpoint, std::string key, PutBody body, Deadline deadline,
                    ProbedDone done);
  void send_probe(Endpoint& endpoint, std::string key, std::string upload_id, PutBody body,
                  Deadline deadline, ProbedDone done);
  void store(Sequence sequence);
  void undo(std::string key, const std::string& spoiled_etag, Done<void> done);

  TransferShared& shared_;
  RetryRunner& runner_;
  const Clock& clock_;
};

}  // namespace s3rdmafs::s3
