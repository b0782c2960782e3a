// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "rdma/fabric.h"
#include "rdma/verbs/address_space.h"
#include "rdma/verbs/token_key.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/rdma/verbs_handles.h"

namespace s3rdmafs::rdma::verbs {

/// One region's registration with one device, and its key for tokens. Thread-safe: calls for one
/// region and device wait for each other, since the verbs may take seconds. Nothing else waits for
/// them, and key() never waits.
///
/// @tparam Device  DcTarget or RcDevice: has register_memory(); stays open while memory is
/// registered
template <class Device>
class DeviceRegistration {
 public:
  /// The plan for the time after a registration ends.
  enum class Next {
    kNothing,  ///< no other, until want()
    kAnother,  ///< the next make() makes another
  };

  /// Nothing while the memory is not registered.
  [[nodiscard]] std::optional<TokenKey::Value> key() const { return key_.get(); }

  /// Whether make() is in the verbs now: a thread that must not wait calls it again later.
  [[nodiscard]] bool is_busy() const { return is_busy_.load(std::memory_order_relaxed); }

  /// Lets make() register the memory; it does nothing before.
  void want() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    is_wanted_ = true;
  }

  /// Registers the memory, unless it is, or is not wanted.
  /// @param open_device  returns the device, or nullptr while it is closed: then nothing is done,
  ///                     and the thread that opens it calls make() again
  /// Errors: the device's, and those of end().
  template <class OpenDevice>
  [[nodiscard]] Result<void> make(const OpenDevice& open_device, std::span<std::byte> bytes,
                                  Access access, AddressSpace& addresses) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!is_wanted_ || key_.get()) return {};
    if (auto gone = deregister(); !gone) return gone;  // what could not be ended before
    const std::shared_ptr<Device> device = open_device();
    if (!device) return {};
    const std::uint64_t iova = addresses.take(bytes);
    is_busy_.store(true, std::memory_order_relaxed);
    auto made = device->register_memory(bytes, iova, access);
    is_busy_.store(false, std::memory_order_relaxed);
    if (!made) {
      if (open_device() != device) return {};  // it failed as a whole, and is opened again
      return std::unexpected(std::move(made.error()));
    }
    device_ = device;
    handle_ = std::move(*made);
    key_.set({.address = iova, .rkey = handle_->rkey});
    return {};
  }

  /// Ends the registration: without an error its key is dead. Errors: kSystem; there are no tokens
  /// any more, but the key may be alive.
  [[nodiscard]] Result<void> end(Next next) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (next == Next::kNothing) is_wanted_ = false;
    return deregister();
  }

  /// After end() failed: the key lives until the device is closed. The handle's memory leaks.
  void abandon() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (key_.get()) return;
    [[maybe_unused]] ibv_mr* const lost = handle_.release();
    device_.reset();
  }

 private:
  [[nodiscard]] Result<void> deregister() REQUIRES(mutex_) {
    key_.clear();
    ibv_mr* const handle = handle_.release();
    if (handle == nullptr) return {};
    if (const int error = ibv_dereg_mr(handle); error != 0) {
      handle_.reset(handle);  // to be tried again
      return fail_errno("deregister memory", error);
    }
    device_.reset();
    return {};
  }

  Mutex mutex_;  // lock order 6b (mlx5), 7b (rc): held over the verbs for this region and device
  std::atomic<bool> is_busy_{false};
  bool is_wanted_ GUARDED_BY(mutex_) = false;
  // The device first: it outlives what is registered with it.
  std::shared_ptr<Device> device_ GUARDED_BY(mutex_);
  Registration handle_ GUARDED_BY(mutex_);
  TokenKey key_;
};

}  // namespace s3rdmafs::rdma::verbs
