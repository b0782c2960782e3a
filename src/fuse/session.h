// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "fuse/mount_context.h"
#include "s3rdmafs/base/error.h"

struct fuse_session;

namespace s3rdmafs::fuse {

/// One libfuse session: a mount and the threads that serve its requests.
///
/// Life: mount(), serve() until the mount ends, then shut the object store down so that every
/// request gets its reply, then destroy this. Replies need the session's descriptor: no request may
/// be under way when it is destroyed.
class Session {
 public:
  struct Options {
    std::string source;       ///< what `mount` and `df` show in the first column
    std::string mount_point;  ///< absolute, or /dev/fd/N of an open FUSE device
    bool allow_other = false;
    /// Further options for mount(2), comma separated, e.g. "nosuid,nodev".
    std::string kernel_options = {};
    unsigned threads = 0;    ///< workers; 0: chosen from the processors
    bool over_ring = false;  ///< requests come over io_uring; find_uring_blocker() found nothing
  };

  /// Sets the context's `session` and `over_ring`; the context must outlive the session.
  /// Errors: kInvalidArgument (libfuse refuses an option), kSystem (no right to mount, or the
  /// signal handlers could not be installed), with the cause.
  [[nodiscard]] static Result<std::unique_ptr<Session>> mount(MountContext& context,
                                                              const Options& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Serves requests until the file system is unmounted or SIGINT, SIGTERM or, where it is not
  /// held, SIGHUP comes.
  void serve();
  /// Makes serve() return. Any thread.
  void stop();

 private:
  struct Destroy {
    void operator()(fuse_session* session) const;
  };
  Session(std::unique_ptr<fuse_session, Destroy> session, unsigned threads)
      : session_(std::move(session)), threads_(threads) {}

  std::unique_ptr<fuse_session, Destroy> session_;
  unsigned threads_;
};

/// Whether /dev/fuse can be opened at all, before anything else is tried.
/// Errors: kAccessDenied, kUnsupported, each with what to do.
[[nodiscard]] Result<void> check_fuse_device();

}  // namespace s3rdmafs::fuse
