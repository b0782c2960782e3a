// SPDX-License-Identifier: Apache-2.0
// The order of each change makes it repeatable: a record is written before what it tells of is
// done, and removed after it is undone. A driver that is killed in between leaves a record too
// many, never a mount that none knows of; the caller's next call, or sweep(), goes on from there.
#include "csi/node/volume_node.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "csi/node/private_files.h"
#include "csi/volume/checks.h"
#include "csi/volume/identity.h"
#include "csi/volume/mount_file.h"
#include "csi/volume/volume_settings.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::csi {
namespace {

constexpr std::chrono::seconds kUndoTime{5};
constexpr std::chrono::seconds kSweepTime{30};
constexpr std::chrono::seconds kAnswerPatience{5};

Result<void> check_use(const VolumeUse& use) {
  if (auto good = check_volume_id(use.volume); !good) return good;
  if (auto good = check_path("staging_target_path", use.staging_path); !good) return good;
  return check_capability(use.capability);
}

std::string lock_of_volume(const std::string& volume) { return "volume " + printable(volume); }
std::string lock_of_mount(const std::string& mount) { return "mount " + mount; }

}  // namespace

struct VolumeNode::Plan {
  std::string mount;
  VolumeSettings settings;
  Identity identity;
  MountFile file;
  Reference reference;
  bool is_new = true;  ///< the target does not have it yet
  bool writes_files =
      true;  ///< false where the target keeps a mount whose Secret has changed since
};

MountedDaemon VolumeNode::daemon_of(const std::string& mount) const {
  const std::string folder = state_.places(mount).folder;
  return {.mount = mount,
          .folder = folder,
          .file = folder + "/" + kMountFile,
          .point = state_.point(mount),
          .log = folder + "/" + kLogFile};
}

Result<void> VolumeNode::stage(const VolumeUse& use, Deadline deadline) {
  if (auto good = check_use(use); !good) return good;
  const auto settings = read_settings(use);
  if (!settings) return std::unexpected(settings.error());
  const auto lease = locks_.take(lock_of_volume(use.volume), clock_, deadline);
  if (!lease) return std::unexpected(lease.error());
  const auto known = state_.staged(use.volume);
  if (!known) return std::unexpected(known.error());
  if (*known && ((*known)->mode != use.capability.mode ||
                 (*known)->mount_flags != use.capability.mount_flags)) {
    return fail(ErrorCode::kExists,
                "the volume is staged with another access mode or other mount options");
  }
  return state_.save({.volume = use.volume,
                      .path = use.staging_path,
                      .mode = use.capability.mode,
                      .mount_flags = use.capability.mount_flags,
                      .secrets = use.secrets});
}

Result<void> VolumeNode::unstage(const std::string& volume, const std::string& path,
                                 Deadline deadline) {
  if (auto good = check_volume_id(volume); !good) return good;
  if (auto good = check_path("staging_target_path", path); !good) return good;
  const auto lease = locks_.take(lock_of_volume(volume), clock_, deadline);
  if (!lease) return std::unexpected(lease.error());
  const auto known = state_.staged(volume);
  if (!known) return std::unexpected(known.error());
  // Of an earlier place, as after an update of kubelet: the volume is staged elsewhere meanwhile.
  if (*known && (*known)->path != path) return {};
  return state_.forget_staged(volume);
}

Result<VolumeNode::Plan> VolumeNode::plan_for(const VolumeUse& use,
                                              const StagedVolume& staged) const {
  Plan plan;
  auto settings = read_settings(use);
  if (!settings) return std::unexpected(settings.error());
  plan.settings = std::move(*settings);
  auto identity =
      make_identity(plan.settings, use.secrets.empty() ? staged.secrets : use.secrets, use.context);
  if (!identity) return std::unexpected(identity.error());
  plan.identity = std::move(*identity);
  const std::string digest = plan.settings.digest_text();
  plan.mount = state_.mount_name(digest + '\0' + plan.identity.digest_text());
  auto file = make_mount_file(plan.settings, plan.identity, state_.places(plan.mount));
  if (!file) return std::unexpected(file.error());
  plan.file = std::move(*file);
  if (!plan.settings.read_only && !plan.file.may_write) {
    return fail(ErrorCode::kInvalidArgument,
                "the volume is to be written, and its write.mode is off: set the attribute "
                "write.mode, or readOnly, or a read-only access mode");
  }
  plan.reference = {.volume = use.volume,
                    .target = use.target_path,
                    .digest = hex_digest(digest),
                    .read_only = plan.settings.read_only};
  return plan;
}

Result<void> VolumeNode::check_only_user(const VolumeUse& use) const {
  if (use.capability.mode != AccessMode::kSingleNodeSingleWriter) return {};
  for (const std::string& mount : state_.mounts()) {
    for (const Reference& other : state_.references(mount)) {
      if (other.volume == use.volume && other.target != use.target_path) {
        return fail(ErrorCode::kUnsupported,
                    "another pod has the volume, whose access mode is for a single one");
      }
    }
  }
  return {};
}

Result<void> VolumeNode::publish(const VolumeUse& use, Deadline deadline) {
  if (auto good = check_use(use); !good) return good;
  if (auto good = check_path("target_path", use.target_path); !good) return good;
  if (auto real = pods_.real_path(use.target_path); !real) return std::unexpected(real.error());
  const auto lease = locks_.take(lock_of_volume(use.volume), clock_, deadline);
  if (!lease) return std::unexpected(lease.error());
  const auto staged = state_.staged(use.volume);
  if (!staged) return std::unexpected(staged.error());
  if (!*staged || (*staged)->path != use.staging_path) {
    return fail(ErrorCode::kUnsupported, "the volume is not staged at " + use.staging_path);
  }
  auto plan = plan_for(use, **staged);
  if (!plan) return std::unexpected(plan.error());
  if (auto alone = check_only_user(use); !alone) return alone;
  if (const auto known = state_.find(use.volume, use.target_path)) {
    const auto& [mount, reference] = *known;
    if (reference.digest != plan->reference.digest ||
        reference.read_only != plan->reference.read_only) {
      return fail(ErrorCode::kExists, "the target has this volume with other settings");
    }
    plan->is_new = false;
    plan->writes_files = mount == plan->mount;
    plan->mount = mount;
  }
  const auto held = locks_.take(lock_of_mount(plan->mount), clock_, deadline);
  if (!held) return std::unexpected(held.error());
  auto done = bring_up(*plan, use, deadline);
  if (!done && plan->is_new) undo(*plan, use);
  if (done && plan->is_new) {
    log::info("volume {} is published at {}{}: mount {}, bucket {}, identity {}",
              printable(use.volume), use.target_path, plan->settings.read_only ? " read-only" : "",
              plan->mount, printable(plan->settings.keys["bucket.name"]), plan->identity.name);
  }
  return done;
}

Result<void> VolumeNode::bring_up(const Plan& plan, const VolumeUse& use, Deadline deadline) {
  if (auto made = state_.make_mount(plan.mount); !made) return made;
  if (plan.writes_files) {
    for (const auto& [file, text] : plan.identity.files) {
      if (auto done = state_.write(plan.mount, file, text); !done) return done;
    }
    if (plan.settings.authentication == Authentication::kPod) {
      auto done = state_.write(plan.mount, kCredentialsFile,
                               credentials_text(plan.settings, state_.places(plan.mount)));
      if (!done) return done;
    }
    if (auto done = state_.write(plan.mount, kMountFile, plan.file.text); !done) return done;
  }
  if (auto done = state_.add(plan.mount, plan.reference); !done) return done;
  MountedDaemon daemon = daemon_of(plan.mount);
  daemon.has_node_credentials = plan.settings.authentication == Authentication::kNode;
  if (auto done = daemons_.ensure(daemon, deadline); !done) {
    return fail(done.error().code, without_secrets(done.error().detail, plan.identity.keys));
  }
  return bind(plan, use);
}

Result<void> VolumeNode::bind(const Plan& plan, const VolumeUse& use) const {
  const auto shown = pods_.mounted(use.target_path);
  if (!shown) return std::unexpected(shown.error());
  const std::string point = state_.point(plan.mount);
  if (*shown) {
    const auto mounted = mount_on(point);
    if (!mounted) return std::unexpected(mounted.error());
    if (*mounted && (*mounted)->device == (*shown)->device) return {};
    // The file system of a daemon that has died: its place is taken by the new one.
    if (auto gone = pods_.detach_dead(use.target_path); !gone) return gone;
  }
  return pods_.bind(point, use.target_path, plan.settings.mount_attributes);
}

void VolumeNode::undo(const Plan& plan, const VolumeUse& use) {
  const Deadline deadline = clock_.now() + kUndoTime;
  std::ignore = pods_.unbind(use.target_path, clock_, deadline);
  std::ignore = state_.remove(plan.mount, plan.reference);
  if (!state_.references(plan.mount).empty()) return;
  if (auto dropped = drop_mount(plan.mount, deadline); !dropped) {
    log::warn("mount {}: it cannot be removed after a failed call: {}; it is tried again",
              plan.mount, dropped.error().detail);
  }
}

Result<void> VolumeNode::drop_mount(const std::string& mount, Deadline deadline) const {
  if (auto ended = daemons_.end(daemon_of(mount), deadline); !ended) return ended;
  return state_.forget_mount(mount);
}

Result<void> VolumeNode::unpublish(const std::string& volume, const std::string& target,
                                   Deadline deadline) {
  if (auto good = check_volume_id(volume); !good) return good;
  if (auto good = check_path("target_path", target); !good) return good;
  const auto lease = locks_.take(lock_of_volume(volume), clock_, deadline);
  if (!lease) return std::unexpected(lease.error());
  const auto shown = pods_.mounted(target);
  if (!shown) return std::unexpected(shown.error());
  if (*shown) {
    const auto answer = ask_file_system((*shown)->point, clock_,
                                        std::min(deadline, clock_.now() + kAnswerPatience));
    if (!answer && answer.error().code == ErrorCode::kStale) {
      if (auto gone = pods_.detach_dead(target); !gone) return gone;
    }
  }
  if (auto gone = pods_.unbind(target, clock_, deadline); !gone) return gone;
  const auto known = state_.find(volume, target);
  if (!known) return {};
  const auto& [mount, reference] = *known;
  const auto held = locks_.take(lock_of_mount(mount), clock_, deadline);
  if (!held) return std::unexpected(held.error());
  if (state_.references(mount).size() > 1) {
    if (auto done = state_.remove(mount, reference); !done) return done;
    log::info("volume {} is unpublished from {}: mount {} has other users", printable(volume),
              target, mount);
    return {};
  }
  // The record stays until the daemon has stored everything, so that the caller's next call waits
  // for it again.
  if (auto dropped = drop_mount(mount, deadline); !dropped) return dropped;
  log::info("volume {} is unpublished from {}: mount {} has ended", printable(volume), target,
            mount);
  return {};
}

Result<VolumeHealth> VolumeNode::look(const std::string& volume, const std::string& path,
                                      Deadline deadline) {
  if (auto good = check_volume_id(volume); !good) return std::unexpected(good.error());
  if (auto good = check_path("volume_path", path); !good) return std::unexpected(good.error());
  if (!state_.find(volume, path)) {
    const auto staged = state_.staged(volume);
    if (!staged) return std::unexpected(staged.error());
    if (*staged && (*staged)->path == path) {
      return VolumeHealth{.numbers = {}, .is_abnormal = false, .message = "the volume is staged"};
    }
    return fail(ErrorCode::kNotFound, "the volume is not at " + path);
  }
  const auto shown = pods_.mounted(path);
  if (!shown) return std::unexpected(shown.error());
  if (!*shown) {
    return VolumeHealth{.numbers = {}, .is_abnormal = true, .message = "nothing is mounted there"};
  }
  const auto answer =
      ask_file_system((*shown)->point, clock_, std::min(deadline, clock_.now() + kAnswerPatience));
  if (!answer) {
    return VolumeHealth{.numbers = {}, .is_abnormal = true, .message = answer.error().detail};
  }
  return VolumeHealth{.numbers = *answer, .is_abnormal = false, .message = "the mount answers"};
}

void VolumeNode::sweep() {
  for (const std::string& mount : state_.mounts()) {
    const Deadline deadline = clock_.now() + kSweepTime;
    const auto held = locks_.take(lock_of_mount(mount), clock_, deadline);
    if (!held || !state_.references(mount).empty()) continue;
    if (auto dropped = drop_mount(mount, deadline); !dropped) {
      log::warn("mount {}: it has no user and cannot be removed: {}; it is tried again", mount,
                dropped.error().detail);
    } else {
      log::info("mount {}: it had no user; it is removed", mount);
    }
  }
}

}  // namespace s3rdmafs::csi
