// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "s3/exchanges/put/part_probe.h"
#include "s3/exchanges/put/probe.h"
#include "s3/exchanges/put/put_exchange.h"
#include "s3/exchanges/put/whole_put_probe.h"
#include "s3/exchanges/retry_runner.h"
#include "s3/exchanges/transfer_shared.h"
#include "s3/object_writer.h"

namespace s3rdmafs::s3 {

/// Everything that a PutObject takes so that it never leaves an empty object: a probe before it
/// while the endpoint is not known to read by RDMA, and the removal of a wrong object after it.
/// Thread-safe.
class PutSequence {
 public:
  /// Borrows all for its lifetime.
  PutSequence(TransferShared& shared, RetryRunner& runner, const Clock& clock)
      : shared_(shared),
        runner_(runner),
        clock_(clock),
        part_probe_(shared, runner),
        whole_put_probe_(shared, runner, clock) {}

  void run(std::string key, PutBody body, PutOptions options, Deadline deadline, PutDone done);

 private:
  /// A PUT on its way through the steps.
  struct Sequence {
    PutExchange::Put put;
    Deadline deadline;
    PutDone done;
    Endpoint* endpoint = nullptr;    ///< probe and PUT go there if it is alive
    std::size_t endpoints_left = 0;  ///< to be probed, this one included
    bool late_read_possible = false;
  };

  enum class ProbeKind { kNone, kPart, kWholeObject };

  void begin(Sequence sequence);
  void on_probed(Sequence sequence, Probed probed);
  [[nodiscard]] ProbeKind wanted_probe(Endpoint& endpoint, std::size_t length_bytes);
  [[nodiscard]] bool goes_by_rdma(Endpoint& endpoint, std::size_t length_bytes) const;
  void probe(ProbeKind kind, ProbeRequest request, ProbedDone done);
  void send_probe(ProbeKind kind, ProbeRequest request, ProbedDone done);
  void store(Sequence sequence);
  void on_stored(Sequence sequence, PutExchange::Ended ended);

  TransferShared& shared_;
  RetryRunner& runner_;
  const Clock& clock_;
  PartProbe part_probe_;
  WholePutProbe whole_put_probe_;
};

}  // namespace s3rdmafs::s3
