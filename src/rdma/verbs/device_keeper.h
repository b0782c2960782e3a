// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::rdma::verbs {

/// A thread that takes care of one device: it handles the device's events, and repairs what is
/// closed, down or not registered.
class DeviceKeeper {
 public:
  /// How soon a device that came back is noticed where it sends no event.
  static constexpr std::chrono::milliseconds kInterval{1000};

  DeviceKeeper() = default;
  /// Blocks until the thread has ended, which is as long as one round takes.
  ~DeviceKeeper() { request_stop(); }
  DeviceKeeper(const DeviceKeeper&) = delete;
  DeviceKeeper& operator=(const DeviceKeeper&) = delete;

  /// Starts the thread. Both functions are called on it alone.
  /// @param thread_name  at most 15 characters
  /// @param events  a descriptor that is readable when the device has an event; empty while no
  ///                device is open
  /// @param round  called after each event, and after an interval without one
  /// Errors: kSystem.
  [[nodiscard]] Result<void> start(std::string thread_name, std::function<UniqueFd()> events,
                                   std::function<void()> round);

  /// No round begins afterwards. Does not block.
  void request_stop() noexcept;

 private:
  UniqueFd wake_;  // an eventfd, written once: the end
  std::jthread thread_;
};

}  // namespace s3rdmafs::rdma::verbs
