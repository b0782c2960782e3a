// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "csi/volume/mount_file.h"
#include "csi/volume/volume_use.h"
#include "journal/state_folder.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::csi {

/// A volume that was staged. Holds secrets.
struct StagedVolume {
  std::string volume;
  std::string path;
  AccessMode mode = AccessMode::kUnknown;
  std::vector<std::string> mount_flags = {};
  Texts secrets = {};
};

/// One pod's use of a mount.
struct Reference {
  std::string volume;
  std::string target;
  std::string digest;  ///< of what the pod asked for, without its identity
  bool read_only = false;
};

/// The driver's memory of its node, in files of root's alone: it is killed at any moment, and
/// the next one goes on. Each file appears whole or not at all. Thread-safe as far as callers hold
/// the lock of the volume or mount that they change (keyed_locks.h).
class NodeState {
 public:
  /// Takes the folder from all other drivers. Blocks for 2 s at most.
  /// @param folder  for mounts, records and secrets: in memory (tmpfs), so that it ends with the
  /// mounts
  /// @param keep    for journals of the mounts, and the key of their names; outlives a reboot
  /// Errors: kBusy (another driver runs), those of journal::StateFolder.
  [[nodiscard]] static Result<NodeState> open(const std::string& folder, const std::string& keep,
                                              const Clock& clock);

  /// The name of the mount for settings and an identity: equal for equal texts, and not to be
  /// guessed from them.
  [[nodiscard]] std::string mount_name(const std::string& text) const;
  [[nodiscard]] MountPlaces places(const std::string& mount) const;
  [[nodiscard]] std::string point(const std::string& mount) const;  ///< where it is mounted

  /// Errors of all that follow: kSystem.
  [[nodiscard]] Result<void> save(const StagedVolume& staged) const;
  [[nodiscard]] Result<std::optional<StagedVolume>> staged(const std::string& volume) const;
  [[nodiscard]] Result<void> forget_staged(const std::string& volume) const;

  [[nodiscard]] Result<void> make_mount(const std::string& mount) const;
  [[nodiscard]] Result<void> write(const std::string& mount, const std::string& file,
                                   const std::string& text) const;
  [[nodiscard]] Result<void> forget_mount(const std::string& mount) const;
  [[nodiscard]] std::vector<std::string> mounts() const;

  [[nodiscard]] Result<void> add(const std::string& mount, const Reference& reference) const;
  [[nodiscard]] Result<void> remove(const std::string& mount, const Reference& reference) const;
  /// {mount, reference} of a target.
  [[nodiscard]] std::optional<std::pair<std::string, Reference>> find(
      const std::string& volume, const std::string& target) const;
  [[nodiscard]] std::vector<Reference> references(const std::string& mount) const;

 private:
  NodeState(journal::StateFolder folder, journal::StateFolder keep, std::string key)
      : folder_(std::move(folder)), keep_(std::move(keep)), key_(std::move(key)) {}

  journal::StateFolder folder_;
  journal::StateFolder keep_;
  std::string key_;
};

}  // namespace s3rdmafs::csi
