// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "csi/node/child_process.h"
#include "csi/node/keyed_locks.h"
#include "csi/node/mount_daemons.h"
#include "csi/node/node_state.h"
#include "csi/node/pod_folder.h"
#include "csi/volume/volume_use.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::csi {

/// The condition of a volume. Plain value.
struct VolumeHealth {
  std::optional<FileSystemNumbers> numbers;  ///< of a published path whose daemon answers
  bool is_abnormal = false;
  std::string message;
};

/// Stages and publishes volumes on this node. Each call can be repeated, and goes on where one that
/// was killed has ended. Calls for one volume are served one at a time. Every call ends by its
/// deadline, or within 5 s of it where it has to undo. Thread-safe.
///
/// Errors: kInvalidArgument, kUnsupported (in this state of things: the volume is not staged,
/// another pod has it alone), kExists (the target has another use of the volume), kNotFound, kBusy,
/// kTimedOut, kSystem.
class VolumeNode {
 public:
  VolumeNode(NodeState state, PodFolder pods, MountDaemons daemons, const Clock& clock)
      : state_(std::move(state)),
        pods_(std::move(pods)),
        daemons_(std::move(daemons)),
        clock_(clock) {}

  /// Checks the volume's settings and remembers its secrets. Mounts nothing: the identity may be
  /// each pod's own.
  [[nodiscard]] Result<void> stage(const VolumeUse& use, Deadline deadline);
  /// Pods that have the volume keep it.
  [[nodiscard]] Result<void> unstage(const std::string& volume, const std::string& path,
                                     Deadline deadline);
  /// Shows the mount of the volume's settings and identity at the target; makes it if it is the
  /// first.
  [[nodiscard]] Result<void> publish(const VolumeUse& use, Deadline deadline);
  /// Takes it away again; with the last pod the mount and its daemon end.
  [[nodiscard]] Result<void> unpublish(const std::string& volume, const std::string& target,
                                       Deadline deadline);
  [[nodiscard]] Result<VolumeHealth> look(const std::string& volume, const std::string& path,
                                          Deadline deadline);

  /// Ends mounts without users, which calls that were killed or failed have left. Blocks for up to
  /// 30 s a mount.
  void sweep();

  [[nodiscard]] Result<void> check_node() const { return daemons_.check_node(); }

 private:
  /// A mount that a use asks for.
  struct Plan;

  [[nodiscard]] Result<Plan> plan_for(const VolumeUse& use, const StagedVolume& staged) const;
  [[nodiscard]] Result<void> check_only_user(const VolumeUse& use) const;
  [[nodiscard]] Result<void> bring_up(const Plan& plan, const VolumeUse& use, Deadline deadline);
  [[nodiscard]] Result<void> bind(const Plan& plan, const VolumeUse& use) const;
  void undo(const Plan& plan, const VolumeUse& use);
  [[nodiscard]] Result<void> drop_mount(const std::string& mount, Deadline deadline) const;
  [[nodiscard]] MountedDaemon daemon_of(const std::string& mount) const;

  const NodeState state_;
  const PodFolder pods_;
  const MountDaemons daemons_;
  const Clock& clock_;
  KeyedLocks locks_;  // of volumes, then of mounts
};

}  // namespace s3rdmafs::csi
