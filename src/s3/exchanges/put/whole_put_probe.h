// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/exchanges/put/probe.h"
#include "s3/exchanges/put/put_exchange.h"
#include "s3/exchanges/retry_runner.h"
#include "s3/exchanges/transfer_shared.h"

namespace s3rdmafs::s3 {

/// Finds out whether a server that takes no part by token takes whole objects, as versitygw does. A
/// small object goes by token to a key of its own beside the one to be stored, is read back by
/// HTTP, compared and removed, so a server that ignores the token does no harm. Capabilities
/// remembers the result. Thread-safe.
class WholePutProbe {
 public:
  /// Borrows all for its lifetime.
  WholePutProbe(TransferShared& shared, RetryRunner& runner, const Clock& clock)
      : shared_(shared), runner_(runner), clock_(clock) {}

  void run(ProbeRequest request, ProbedDone done);

 private:
  struct Probe {
    ProbeRequest request;  ///< with the probe's own key
    ProbedDone done;
    Probed probed = {};
    bool was_sent = false;  ///< by token
  };

  void on_put(Probe probe, PutExchange::Ended put);
  void compare(Probe probe);
  void remove(Probe probe);
  void conclude(Probe probe);
  void on_refused(Endpoint& endpoint, const Error& error);

  TransferShared& shared_;
  RetryRunner& runner_;
  const Clock& clock_;
};

}  // namespace s3rdmafs::s3
