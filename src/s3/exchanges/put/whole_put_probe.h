// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/exchanges/put/put_exchange.h"
#include "s3/exchanges/retry_runner.h"
#include "s3/exchanges/transfer_shared.h"

namespace s3rdmafs::s3 {

/// How a probe ended; an error only says that the endpoint is not known to read.
struct Probed {
  Result<void> result;
  bool late_read_possible = false;
  bool has_fabric = true;
};
using ProbedDone = std::move_only_function<void(Probed)>;

/// Finds out whether a server that takes no part by token takes whole objects: versitygw does. A
/// small object goes by token to a key of its own beside the one to be stored, is read back by
/// HTTP, compared and removed, so a server that ignores the token does no harm. What comes of it is
/// remembered in Capabilities. Thread-safe.
class WholePutProbe {
 public:
  /// Borrows all for its lifetime.
  WholePutProbe(TransferShared& shared, RetryRunner& runner, const Clock& clock)
      : shared_(shared), runner_(runner), clock_(clock) {}

  /// @param key   of the object to be stored; the probe's is in the same folder, hidden from `ls`
  /// @param body  what the probe stores; kept alive and unchanged until `done`
  void run(Endpoint& endpoint, const std::string& key, PutBody body, Deadline deadline,
           ProbedDone done);

 private:
  struct Probe {
    Endpoint* endpoint = nullptr;
    std::string key;
    PutBody body;
    Deadline deadline;
    ProbedDone done;
    Probed probed = {};
    bool was_sent = false;  ///< by token
  };

  void on_put(Probe probe, PutExchange::Ended put);
  void compare(Probe probe);
  void remove(Probe probe);
  void conclude(Probe probe);

  TransferShared& shared_;
  RetryRunner& runner_;
  const Clock& clock_;
};

/// The key of a probe for an object that is to be stored as `key`.
[[nodiscard]] std::string probe_key(const std::string& key);

}  // namespace s3rdmafs::s3
