// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>

#include "rdma/fabric.h"
#include "s3rdmafs/base/worker_thread.h"

namespace s3rdmafs::memory {

/// Memory that a server may still touch although its request has ended: a *late transfer*. The
/// memory must not be used again before a fence has ended the server's rights to it, or the
/// transfer would change, or read, the bytes of another object.
///
/// The owner of the memory keeps it out of use from the moment when the late transfer becomes
/// possible, waits until the last transfer of its own has ended (a fence breaks those too), and
/// then hands it to add(). Thread-safe.
class Quarantine {
 public:
  using OnFenced = std::move_only_function<void()>;

  /// Borrows the thread, on which fences block. Its tick must call retry(). The thread must end
  /// before the Quarantine does; what is not fenced when the thread finishes stays unfenced.
  explicit Quarantine(WorkerThread& thread) : thread_(thread) {}
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;

  /// Fences the region soon, and again once a tick until a fence works. Borrows the region until
  /// then.
  /// @param on_fenced  called once on the thread: the memory may be used again
  void add(rdma::MemoryRegion& region, OnFenced on_fenced);

  /// Tries what could not be fenced before, oldest attempt first. On the thread only. The first
  /// failure ends the round: a server that does not answer would hold up the thread's other work.
  void retry();

 private:
  struct Entry {
    rdma::MemoryRegion* region;
    OnFenced on_fenced;
  };
  /// False where the fence failed and the entry has been queued.
  bool fence(Entry entry);

  WorkerThread& thread_;
  std::deque<Entry> unfenced_;  // the thread's own
};

}  // namespace s3rdmafs::memory
