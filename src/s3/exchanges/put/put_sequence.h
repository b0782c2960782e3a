// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "s3/exchanges/put/put_exchange.h"
#include "s3/exchanges/put/whole_put_probe.h"
#include "s3/exchanges/retry_runner.h"
#include "s3/exchanges/transfer_shared.h"
#include "s3/object_writer.h"

namespace s3rdmafs::s3 {

/// What PutObject takes besides its own request, so that no empty object is ever left behind: a
/// probe before it while the endpoint is not known to read by RDMA, and an undo after it where a
/// server stored the wrong thing and could not be given the right one. Thread-safe.
class PutSequence {
 public:
  /// Borrows all for its lifetime.
  PutSequence(TransferShared& shared, RetryRunner& runner, const Clock& clock)
      : shared_(shared), runner_(runner), clock_(clock), whole_put_probe_(shared, runner, clock) {}

  void run(std::string key, PutBody body, bool only_if_absent, Deadline deadline, PutDone done);

 private:
  /// A PUT on its way through the steps.
  struct Sequence {
    PutExchange::Put put;
    Deadline deadline;
    PutDone done;
    Endpoint* endpoint = nullptr;    ///< where probe and PUT go if it is alive
    std::size_t endpoints_left = 0;  ///< to be asked first, this one included
    bool late_read_possible = false;
  };

  enum class ProbeKind { kNone, kPart, kWholeObject };

  void begin(Sequence sequence);
  void on_probed(Sequence sequence, Probed probed);
  [[nodiscard]] ProbeKind wanted_probe(Endpoint& endpoint, const PutBody& body);
  void probe(Endpoint& endpoint, ProbeKind kind, std::string key, PutBody body, Deadline deadline,
             ProbedDone done);
  void begin_probe(Endpoint& endpoint, ProbeKind kind, std::string key, PutBody body,
                   Deadline deadline, ProbedDone done);
  void create_probe(Endpoint& endpoint, std::string key, PutBody body, Deadline deadline,
                    ProbedDone done);
  void send_probe(Endpoint& endpoint, std::string key, std::string upload_id, PutBody body,
                  Deadline deadline, ProbedDone done);
  void store(Sequence sequence);
  void undo(std::string key, const std::string& spoiled_etag, Done<void> done);

  TransferShared& shared_;
  RetryRunner& runner_;
  const Clock& clock_;
  WholePutProbe whole_put_probe_;
};

}  // namespace s3rdmafs::s3
