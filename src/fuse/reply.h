// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "cache/read_cache.h"
#include "fuse/lowlevel.h"
#include "fuse/watch/operation_times.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::fuse {

struct MountContext;

/// The one reply that a FUSE request gets. An operation makes it when the request arrives, moves it
/// into the continuation and uses it once; destroyed unused, it answers EIO and logs the bug.
///
/// While it is open, the kernel may interrupt the request (a signal to the waiting process): it is
/// then answered EINTR at once, and the later answer is dropped. So a user can kill a process that
/// waits for the network. Thread-safe against interrupts; otherwise thread-bound.
///
/// It measures the time from its making to the reply (OperationTimes), unless that was EINTR.
class Reply {
  struct State;
  struct LetGo {
    void operator()(State* state) const;
  };
  using Held = std::unique_ptr<State, LetGo>;

 public:
  Reply(fuse_req_t request, Opcode operation);
  /// For requests that change something: a signal does not answer them. The change goes on, so a
  /// caller that retries after EINTR would race its own first attempt. The deadline bounds the
  /// wait.
  /// @param bytes  how many the request is for
  [[nodiscard]] static Reply uninterruptible(fuse_req_t request, Opcode operation,
                                             std::uint64_t bytes = 0);

  /// Makes an uninterruptible request interruptible once it has to wait.
  class Waiting {
   public:
    /// To be called after the Reply was moved into its continuation. Does nothing if the request
    /// has been answered by then.
    void begin() { make_interruptible(*state_); }

   private:
    friend class Reply;
    explicit Waiting(Held state) : state_(std::move(state)) {}
    Held state_;
  };
  /// For operations that mostly answer before they return. Only the requests that wait then need an
  /// interrupt function, which costs two acquisitions of the libfuse session's lock, which all
  /// requests share.
  [[nodiscard]] Waiting waiting() const;

  Reply(Reply&&) = default;
  Reply& operator=(Reply&&) = delete;
  ~Reply();

  void error(const Error& error);
  void errno_value(int value);
  /// False if the kernel did not take the reply. It then never forgets the inode: the caller must.
  bool entry(const fuse_entry_param& entry);
  void attributes(const struct stat& attributes, double valid_s);
  /// Calls `make_file` only if a reply is still wanted, and while the request still exists to ask
  /// the kernel with. False if the kernel will not have the handle. It then never releases it: the
  /// caller must.
  bool open(const std::function<fuse_file_info(fuse_req_t)>& make_file);
  void create(const fuse_entry_param& entry, const fuse_file_info& file);
  void written(std::size_t bytes);
  /// @param target  without a NUL byte
  void link(const std::string& target);
  /// False as for entry(), concerning the inodes that a listing gives.
  bool bytes(std::span<const char> bytes);
  /// One writev(2) straight out of the cache. The caller keeps the bytes pinned until it returns.
  void data(const cache::PinnedBytes& bytes);
  /// The answer to a request for a size: so many bytes the program has to offer.
  void size(std::size_t bytes);
  void statfs(const struct statvfs& statistics);

  /// Of the request: since it came, by the mount's rule.
  [[nodiscard]] Deadline deadline() const;

  /// For libfuse's functions that take the request of an open reply.
  [[nodiscard]] fuse_req_t request() const { return state_->request; }

 private:
  enum class Phase { kRegistering, kInterruptedEarly, kOpen, kAnswered };
  struct State {
    State(fuse_req_t of, Opcode operation, std::uint64_t bytes);

    fuse_req_t request;
    MountContext& mount;  // `request` may be gone when it is needed
    metrics::Histogram& times;
    const std::chrono::steady_clock::time_point came_at;
    std::atomic<Phase> phase{Phase::kOpen};
    std::atomic<int> holders{1};
    // Held over fuse_req_interrupt_func, which takes libfuse's locks and may call on_interrupt(),
    // which takes no lock.
    Mutex mutex;
    bool has_interrupt_function GUARDED_BY(mutex) = false;
  };

  static void make_interruptible(State& state);
  static void on_interrupt(fuse_req_t request, void* data) noexcept;
  explicit Reply(Held state) : state_(std::move(state)) {}
  /// Takes the right to answer from the interrupt. False if the interrupt has answered.
  [[nodiscard]] bool claim();
  /// The kernel has the reply.
  void measure();

  Held state_;
};

}  // namespace s3rdmafs::fuse
