// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include "cache/read_cache.h"
#include "fuse/lowlevel.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::fuse {

/// The one reply that a FUSE request gets. Made when the request arrives, moved into the
/// continuation, used once; destroyed unused, it answers EIO and logs the bug.
///
/// While it is open, the kernel may interrupt the request (a signal to the waiting process): then
/// it is answered EINTR at once, and the later answer is dropped. So no process hangs on the
/// network that its user wants to kill. Thread-safe against interrupts; otherwise thread-bound.
class Reply {
  struct State;
  struct LetGo {
    void operator()(State* state) const;
  };
  using Held = std::unique_ptr<State, LetGo>;

 public:
  explicit Reply(fuse_req_t request);
  /// For requests that change something: a signal does not answer them, since the change goes on,
  /// and who tried again after EINTR would meet its own first attempt. They wait to the end, which
  /// the deadline bounds.
  [[nodiscard]] static Reply uninterruptible(fuse_req_t request);

  /// What makes an uninterruptible request interruptible after all, once it has to wait.
  class Waiting {
   public:
    /// After the Reply went to who will answer. Nothing happens if it has been answered by now.
    void begin() { make_interruptible(*state_); }

   private:
    friend class Reply;
    explicit Waiting(Held state) : state_(std::move(state)) {}
    Held state_;
  };
  /// For requests most of which are answered before their operation returns: only those that are
  /// not need an interrupt function, which costs two takes of a lock that all requests share,
  /// libfuse's session's.
  [[nodiscard]] Waiting waiting() const;

  Reply(Reply&&) = default;
  Reply& operator=(Reply&&) = delete;
  ~Reply();

  void error(const Error& error);
  void errno_value(int value);
  /// False where the kernel did not take it, and so will not forget the inode: the caller must.
  bool entry(const fuse_entry_param& entry);
  void attributes(const struct stat& attributes, double valid_s);
  /// Asks for what to answer only if an answer is still wanted, and while the request is still
  /// there to ask the kernel with. False where the kernel will have no such handle, and so will not
  /// release it: the caller must.
  bool open(const std::function<fuse_file_info(fuse_req_t)>& make_file);
  void create(const fuse_entry_param& entry, const fuse_file_info& file);
  void written(std::size_t bytes);
  /// False as with entry(), of the inodes that a listing names.
  bool bytes(std::span<const char> bytes);
  /// One writev straight out of the cache; the bytes stay pinned until it has returned.
  void data(const cache::PinnedBytes& bytes);
  void statfs(const struct statvfs& statistics);

  /// For fuse_add_direntry, which wants it although it never looks at it.
  [[nodiscard]] fuse_req_t request() const { return state_->request; }

 private:
  enum class Phase { kRegistering, kInterruptedEarly, kOpen, kAnswered };
  struct State {
    explicit State(fuse_req_t of) : request(of) {}

    fuse_req_t request;
    std::atomic<Phase> phase{Phase::kOpen};
    std::atomic<int> holders{1};
    Mutex mutex;  // held over fuse_req_interrupt_func, which may call on_interrupt; that takes none
    bool has_interrupt_function GUARDED_BY(mutex) = false;
  };

  static void make_interruptible(State& state);
  static void on_interrupt(fuse_req_t request, void* data) noexcept;
  explicit Reply(Held state) : state_(std::move(state)) {}
  /// True for whoever may answer: the owner or the interrupt, whichever comes first.
  [[nodiscard]] bool claim();

  Held state_;
};

}  // namespace s3rdmafs::fuse
