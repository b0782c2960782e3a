// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "s3rdmafs/base/clock.h"
#include "target/auth/keys.h"
#include "target/auth/terms.h"
#include "target/auth/verify.h"
#include "target/behaviour/behaviour.h"
#include "target/digest/etag.h"
#include "target/faults/faults.h"
#include "target/http/message.h"
#include "target/rdma/transfer_service.h"
#include "target/s3_error.h"
#include "target/store/folder_snapshot.h"
#include "target/store/store.h"
#include "target/traffic.h"

namespace s3rdmafs::target {

/// The objects that every operation uses. Built once, before the server starts.
struct Services {
  Store store;
  Keys keys;
  std::string region;  ///< empty: any
  std::string
      domain;  ///< "s3.local" makes "bucket.s3.local" an address of the bucket; may be empty
  bool anonymous_read = false;
  BucketTerms terms = {};
  EtagKind etags = EtagKind::kMd5;
  TransferService* rdma = nullptr;             ///< borrowed; nullptr: RDMA is declined
  Behaviour behaviour = behaviours().front();  ///< the server that is played
  Faults* faults = nullptr;                    ///< borrowed; nullptr: none
  std::chrono::milliseconds delay{};  ///< before each answer; needs `faults`, which ends the wait
  bool has_fault_control = false;     ///< faults may be changed while it runs, from this host
  const Clock& clock;
  SnapshotCache& snapshots;
  Traffic& traffic;
};

/// One request, its sender known and its address taken apart.
struct Call {
  Request request;
  Caller caller;
  std::string bucket;         ///< empty: the service itself
  std::string key;            ///< empty: the bucket itself
  std::string document = {};  ///< the body, of an operation that takes an XML document
};

/// Copies an error out of one result into another.
template <class T>
[[nodiscard]] std::unexpected<S3Error> pass_on(S3Result<T>& failed) {
  return std::unexpected<S3Error>(std::move(failed.error()));
}

}  // namespace s3rdmafs::target
