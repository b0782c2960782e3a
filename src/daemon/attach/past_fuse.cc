// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/past_fuse.h"

#include "daemon/attach/opened_inode.h"
#include "fuse/process.h"
#include "memory/arena.h"

namespace s3rdmafs::daemon {
namespace {

// As long as a slab of the read cache: one request to the server, and what a first read waits for.
constexpr std::uint64_t kPartBytes = memory::Arena::kSlabBytes;

}  // namespace

Result<std::unique_ptr<PastFuse>> PastFuse::listen(cache::ResidentParts* parts,
                                                   fuse::MountContext& context,
                                                   const config::MountConfig& config) {
  if (parts == nullptr) return nullptr;
  std::unique_ptr<PastFuse> made(new PastFuse(*parts, context, config));
  auto listening = AttachSocket::listen(context.attach_socket, made->service_);
  if (!listening) return std::unexpected(listening.error());
  made->socket_ = std::move(*listening);
  return made;
}

PastFuse::PastFuse(cache::ResidentParts& parts, fuse::MountContext& context,
                   const config::MountConfig& config)
    : context_(context),
      service_(
          parts, [this](int descriptor, pid_t process) { return opened(descriptor, process); },
          [this](std::uint64_t handle, std::uint64_t bytes) {
            context_.activity.gave(handle, bytes);
          },
          context.clock, context.metrics,
          {.part_bytes = kPartBytes,
           .ahead_bytes_max = config.read_ahead.window_max_bytes,
           .part_time = config.retry.deadline}) {}

// A descriptor does not tell its handle. That of another process counts where it was handed on.
Result<AttachService::Opened> PastFuse::opened(int descriptor, pid_t process) const {
  const auto ino = opened_inode(descriptor, device_);
  if (!ino) return std::unexpected(ino.error());
  auto version = context_.file_system_of(*ino).version_of(*ino);
  if (!version) return std::unexpected(std::move(version.error()));
  AttachService::Opened opened{.version = std::move(*version)};
  for (const auto& [handle, thread] : context_.activity.openers_of(*ino)) {
    opened.handle = handle;
    if (static_cast<pid_t>(fuse::process_of_thread(thread)) == process) break;
  }
  return opened;
}

}  // namespace s3rdmafs::daemon
