// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "target/rdma/rc/rc_link.h"

namespace s3rdmafs::target {

/// The sessions of the rc dialect and whose turn it is: one request at a time holds a session's
/// link. Thread-safe. Outlives its leases. Source of the rules: s3rdmafs-protocol(7).
class RcSessions {
 public:
  static constexpr std::size_t kSessionsMax = 1024;
  /// A session without a transfer for so long may go.
  static constexpr std::chrono::seconds kIdleMax{300};

  explicit RcSessions(const Clock& clock) : clock_(clock) {}

  /// A session's link, for one request. Unless keep() was called, the session ends with it: after a
  /// failed transfer its queue pair is good for nothing.
  class Lease {
   public:
    Lease(RcSessions& sessions, std::string id, std::unique_ptr<RcLink> link)
        : sessions_(sessions), id_(std::move(id)), link_(std::move(link)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    [[nodiscard]] RcLink& link() { return *link_; }
    void keep();

   private:
    RcSessions& sessions_;
    std::string id_;
    std::unique_ptr<RcLink> link_;  // null: kept, or moved from
  };

  /// Adds a connected link under a new unguessable id, which is all that a client needs to use it.
  /// Errors: kThrottled where kSessionsMax are open.
  [[nodiscard]] Result<std::string> add(std::unique_ptr<RcLink> link);

  /// Errors: kUnreachable for a session that is unknown, ended or busy.
  [[nodiscard]] Result<Lease> borrow(std::string_view id);

  /// Ends a session. A busy one stays, an unknown one is fine.
  void remove(std::string_view id);

  /// Ends those that are idle for longer than kIdleMax.
  void remove_idle();

 private:
  struct Session {
    std::unique_ptr<RcLink> link;  ///< null: a request has it
    std::chrono::steady_clock::time_point used;
  };

  const Clock& clock_;
  mutable Mutex mutex_;  // leaf; no link is destroyed under it
  std::map<std::string, Session, std::less<>> sessions_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::target
