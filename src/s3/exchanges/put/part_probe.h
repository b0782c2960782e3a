// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/exchanges/put/probe.h"
#include "s3/exchanges/put/put_exchange.h"
#include "s3/exchanges/retry_runner.h"
#include "s3/exchanges/transfer_shared.h"

namespace s3rdmafs::s3 {

/// Finds out whether a server takes parts by token: one small part of an upload to the object's own
/// key, which is aborted whatever came of it. Parts are never visible, so a server that ignores the
/// token does no harm. Thread-safe.
class PartProbe {
 public:
  /// Borrows both for its lifetime.
  PartProbe(TransferShared& shared, RetryRunner& runner) : shared_(shared), runner_(runner) {}

  void run(ProbeRequest request, ProbedDone done);

 private:
  struct Probe {
    ProbeRequest request;
    ProbedDone done;
  };

  void send_part(Probe probe, std::string upload_id);
  void abort_upload(Probe probe, std::string upload_id, PutExchange::Ended part);

  TransferShared& shared_;
  RetryRunner& runner_;
};

}  // namespace s3rdmafs::s3
