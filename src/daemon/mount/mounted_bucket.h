// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/credentials/credentials.h"
#include "config/mount_config.h"
#include "daemon/reload/reloader.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// The decisions of one mount: settings, credentials and names. Plain value.
struct MountPlan {
  config::MountConfig config;
  config::CredentialChoice credentials;  ///< of a mount of one bucket
  /// Those of config.directories, in their order.
  std::vector<config::CredentialChoice> directory_credentials = {};
  std::string source;       ///< shown as the mounted device: the mount file
  std::string mount_point;  ///< checked and absolute
  std::vector<std::string> kernel_options;
  Reloader::Load load_again;       ///< reads the mount file as it was read for this plan
  bool reloads_on_hangup = false;  ///< after hold_hangups(); else SIGHUP ends the mount
};

/// One mounted bucket: builds every layer from the bottom up, and destroys them in reverse.
///
/// Life: create(), serve() until the mount ends, then destroy. Thread-bound; its layers have
/// threads of their own.
class MountedBucket {
 public:
  /// Checks the bucket, takes the cache's memory and mounts. Blocks for retry.deadline at most, and
  /// for as long as locking the memory takes. Errors: those of every layer; each detail is fit to
  /// be shown to the user as it stands.
  [[nodiscard]] static Result<std::unique_ptr<MountedBucket>> create(const MountPlan& plan);
  /// Gives uploads of closed files until retry.deadline, ends every other request, then unmounts.
  ~MountedBucket();

  /// Serves until the file system is unmounted or a signal ends it. Calls `on_answer` once, on
  /// another thread, after the first request through the mount point was answered. At most once.
  /// Errors: kSystem if no request was ever answered.
  [[nodiscard]] Result<void> serve(const std::function<void()>& on_answer);

 private:
  struct Layers;
  explicit MountedBucket(std::unique_ptr<Layers> layers);
  std::unique_ptr<Layers> layers_;
};

}  // namespace s3rdmafs::daemon
