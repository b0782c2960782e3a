// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/resident/control_socket.h"
#include "daemon/resident/find_objects.h"
#include "daemon/resident/resident_keeper.h"
#include "daemon/resident/warm_request.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/files/open_trace.h"

namespace s3rdmafs::daemon {

/// Objects fetched ahead of time, for one mount: answers `s3rdmafs warm` on the control socket, and
/// keeps the objects of [[resident]] resident. Each has a thread of its own.
///
/// Life: listen(), start_keeping() when the mount is ready, stop(), then shut the store and the
/// cache's fills down so that waits end, then destroy this before the cache.
class ResidentService {
 public:
  struct Options {
    std::string socket_path;         ///< control_socket_path() of the mount point
    std::string record_socket_path;  ///< record_socket_path() of it
    std::vector<std::string> globs;  ///< of [[resident]]; see config/path_glob.h
    /// Answers requests of others on the record socket; false: it does not know the request.
    std::function<bool(ControlRequest&)> also_answer = {};
  };

  /// The parts of the mount that requests work on. Borrows all.
  struct Parts {
    WarmTargets targets;  ///< without whole objects nothing is kept
    vfs::OpenTrace& trace;
  };

  /// Borrows the parts, the registry and what the bucket borrows.
  /// Errors: kSystem, as ControlSocket::listen.
  [[nodiscard]] static Result<std::unique_ptr<ResidentService>> listen(Options options,
                                                                       const Bucket& bucket,
                                                                       const Parts& parts,
                                                                       metrics::Registry& metrics);

  /// Begins to make the objects of [[resident]] resident. At most once.
  void start_keeping();
  /// Other [[resident]] tables, from now on. Any thread.
  void set_globs(std::vector<std::string> globs);
  /// Takes no further request, and tells the work under way to end early. Does not wait for it.
  void stop();

 private:
  ResidentService() = default;

  std::unique_ptr<ResidentKeeper> keeper_;  // null where there are no whole objects
  std::unique_ptr<ControlSocket> control_;
  std::unique_ptr<ControlSocket> recording_;
};

}  // namespace s3rdmafs::daemon
