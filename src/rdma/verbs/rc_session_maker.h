// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "rdma/verbs/rc_control.h"
#include "rdma/verbs/rc_device.h"
#include "rdma/verbs/session_pool.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::rdma::verbs {

/// The device that is open now. Thread-safe.
class CurrentDevice {
 public:
  [[nodiscard]] std::shared_ptr<RcDevice> get() const {
    const MutexLock lock(mutex_);
    return device_;
  }
  void set(std::shared_ptr<RcDevice> device) {
    const MutexLock lock(mutex_);
    device_ = std::move(device);
  }

 private:
  mutable Mutex mutex_;  // lock order 7c: leaf
  std::shared_ptr<RcDevice> device_ GUARDED_BY(mutex_);
};

/// Makes sessions over the device that is open now: a queue pair of ours, the exchange with the
/// server, and the connection of the two. Borrows the device's holder.
class RcSessionMaker final : public SessionMaker {
 public:
  RcSessionMaker(RcControl::Options options, const CurrentDevice& device)
      : control_(std::move(options)), device_(device) {}

  Result<std::unique_ptr<Session>> connect() override;
  void disconnect(const std::string& session_id) override { control_.disconnect(session_id); }
  void cancel() noexcept override { control_.cancel(); }

 private:
  RcControl control_;
  const CurrentDevice& device_;
};

}  // namespace s3rdmafs::rdma::verbs
