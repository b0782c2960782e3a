// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "s3rdmafs/base/mutex.h"
#include "target/rdma/shm/shm_region.h"

namespace s3rdmafs::target {

/// All sessions and their regions, in which a token is looked up. Thread-safe.
class ShmSessions {
 public:
  /// A new session under an unguessable id.
  [[nodiscard]] rdma::shm::SessionId open();

  /// Ends a session and waits until none of its transfers runs.
  void close(const rdma::shm::SessionId& id);

  /// Returns the new region's key. Errors: kInvalidArgument where there is no such session.
  [[nodiscard]] Result<std::uint64_t> add(const rdma::shm::SessionId& id,
                                          std::shared_ptr<ShmRegion> region);

  /// Takes a region out and waits until no transfer touches it. Unknown keys are fine.
  void remove(const rdma::shm::SessionId& id, std::uint64_t region_key);

  /// The region a token names, held for the length of one transfer.
  /// Errors: kInvalidArgument where there is none, or not with this access.
  [[nodiscard]] Result<std::shared_ptr<ShmRegion>> find(const rdma::shm::Token& token,
                                                        rdma::shm::WireAccess access) const;

 private:
  struct Session {
    std::map<std::uint64_t, std::shared_ptr<ShmRegion>> regions;
    std::uint64_t next_key = 1;
  };

  mutable Mutex mutex_;  // leaf
  std::map<rdma::shm::SessionId, Session> sessions_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::target
