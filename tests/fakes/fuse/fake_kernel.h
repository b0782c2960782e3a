// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fakes/fuse/fuse_request.h"
#include "fakes/fuse/kernel_inodes.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::fakes {

/// The kernel's end of one FUSE mount, without a mount: libfuse reads requests from its device and
/// writes replies to it, and the test says what programs do.
///
/// It behaves as the worst of the real ones: reads of the device fail with EINTR and ENOENT now and
/// then, an interrupt may overtake its request, and replies to requests that were given up are
/// refused. It checks each reply as Linux does and collects what Linux would refuse. The executable
/// that uses it has to be linked with device_calls.cc. Thread-safe.
class FakeKernel {
 public:
  struct Abilities {
    std::uint32_t minor = FUSE_KERNEL_MINOR_VERSION;
    std::uint64_t flags = kAllFlags;  ///< FUSE_* of INIT that this kernel has
    bool backs_files = true;          ///< false: it refuses to open backing files
  };
  static constexpr std::uint64_t kAllFlags =
      FUSE_ASYNC_READ | FUSE_ATOMIC_O_TRUNC | FUSE_BIG_WRITES | FUSE_AUTO_INVAL_DATA |
      FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO | FUSE_ASYNC_DIO | FUSE_WRITEBACK_CACHE |
      FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES | FUSE_EXPLICIT_INVAL_DATA | FUSE_INIT_EXT |
      FUSE_DIRECT_IO_ALLOW_MMAP | FUSE_PASSTHROUGH;

  using Id = std::uint64_t;

  FakeKernel() : FakeKernel(Abilities{}) {}
  explicit FakeKernel(Abilities abilities);
  ~FakeKernel();
  FakeKernel(const FakeKernel&) = delete;
  FakeKernel& operator=(const FakeKernel&) = delete;

  /// The path to give libfuse as a mount point. For one session, which closes the device.
  [[nodiscard]] std::string make_device();

  // The calls of programs.

  /// Sends a request. Each is answered once, but FORGET and BATCH_FORGET, which have no reply.
  Id send(FuseRequest request);
  /// The same for a request whose INTERRUPT the file system reads first.
  Id send_interrupted(FuseRequest request);
  /// A signal to the process that waits for a request.
  void interrupt(Id id);
  /// A request that the kernel has given up when its reply comes, which it then refuses.
  Id send_given_up(FuseRequest request);
  /// Waits until the reply to such a request was refused; false after half a minute.
  [[nodiscard]] bool await_refusal(Id id);
  /// Waits for the reply; ETIMEDOUT and a violation after half a minute.
  FuseReply await(Id id);
  FuseReply call(FuseRequest request) { return await(send(std::move(request))); }
  [[nodiscard]] bool is_answered(Id id) const;
  /// Sends INIT and waits for its reply.
  fuse_init_out initialise();
  /// Drops all references to inodes by one BATCH_FORGET.
  void forget_all();
  /// From now on notifications fail with this errno; 0: they succeed.
  void refuse_notifications(int error);
  /// Ends the connection: the device gives ENODEV, or another errno, and replies are refused.
  void unmount(int read_error = ENODEV);

  // The state that the kernel keeps.

  [[nodiscard]] std::uint64_t lookups(std::uint64_t node) const;
  [[nodiscard]] std::size_t open_files() const;
  [[nodiscard]] std::size_t backing_ids() const;
  [[nodiscard]] std::string page_cache(std::uint64_t node) const;
  /// Interrupts that the file system asked for again (EAGAIN).
  [[nodiscard]] unsigned repeated_interrupts() const;
  /// All that a real kernel would have refused or a program would have waited for in vain.
  [[nodiscard]] std::vector<std::string> violations() const;

  // The device, for device_calls.cc. Negative: an errno.

  /// Null for other descriptors.
  static FakeKernel* find(int fd);
  ssize_t device_read(int fd, std::span<char> buffer);
  ssize_t device_write(int fd, std::span<const iovec> parts);
  int device_ioctl(unsigned long request, void* argument);

 private:
  struct Pending {
    FuseRequest request;
    int read_by = -1;  ///< the descriptor it was read from, where its reply belongs
    bool is_given_up = false;
    bool was_refused = false;
    std::optional<FuseReply> reply = {};
  };
  struct Queued {
    Id unique = 0;
    FuseRequest request;
  };

  enum class Fate { kNormal, kInterruptedFirst, kGivenUp };
  Id enqueue(FuseRequest request, Fate fate);
  void queue_interrupt(Id id) REQUIRES(mutex_);
  ssize_t take_reply(int fd, Id unique, FuseReply reply) REQUIRES(mutex_);
  ssize_t take_interrupt_reply(Id unique, int error) REQUIRES(mutex_);
  ssize_t take_notification(int code, std::string_view body) REQUIRES(mutex_);
  ssize_t violation(std::string text, int error) REQUIRES(mutex_);

  const Abilities abilities_;
  UniqueFd device_;  // a pipe's end for writing; poll(2) shows POLLERR once the other is closed
  UniqueFd device_peer_;  // that other

  mutable Mutex mutex_;  // leaf
  CondVar changed_;
  std::deque<Queued> queue_ GUARDED_BY(mutex_);
  std::map<Id, Pending> requests_ GUARDED_BY(mutex_);
  KernelInodes inodes_ GUARDED_BY(mutex_);
  Id last_id_ GUARDED_BY(mutex_) = 0;
  std::size_t bytes_read_at_least_ GUARDED_BY(mutex_) = FUSE_MIN_READ_BUFFER;
  unsigned reads_ GUARDED_BY(mutex_) = 0;
  unsigned repeated_interrupts_ GUARDED_BY(mutex_) = 0;
  int notification_error_ GUARDED_BY(mutex_) = 0;
  int read_error_ GUARDED_BY(mutex_) = 0;  ///< 0: mounted
};

}  // namespace s3rdmafs::fakes
