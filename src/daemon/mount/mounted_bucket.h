// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/mount_config.h"
#include "s3/wire/credentials.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// Everything one mount is made of, decided.
struct MountPlan {
  config::MountConfig config;
  s3::Credentials credentials;
  std::string source;       ///< shown as the mounted device: the mount file
  std::string mount_point;  ///< checked and absolute
  std::vector<std::string> kernel_options;
};

/// One bucket, mounted: builds every layer from the bottom up, and takes them down in reverse.
class MountedBucket {
 public:
  /// Checks the bucket, takes the cache's memory and mounts. The detail of every error is fit to be
  /// shown to the user as it stands.
  [[nodiscard]] static Result<std::unique_ptr<MountedBucket>> create(const MountPlan& plan);
  /// Ends every request under way, then unmounts.
  ~MountedBucket();

  /// Serves until unmounted or told to end by a signal. Calls `on_answer` once, when the first
  /// request through the mount point has been answered. Errors: kSystem if none ever was.
  [[nodiscard]] Result<void> serve(const std::function<void()>& on_answer);

 private:
  struct Layers;
  explicit MountedBucket(std::unique_ptr<Layers> layers);
  std::unique_ptr<Layers> layers_;
};

}  // namespace s3rdmafs::daemon
