// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/past_fuse.h"

#include "daemon/attach/opened_inode.h"
#include "memory/arena.h"

namespace s3rdmafs::daemon {
namespace {

// As long as a slab of the read cache: one request to the server, and what a first read waits for.
constexpr std::uint64_t kPartBytes = memory::Arena::kSlabBytes;

}  // namespace

Result<std::unique_ptr<PastFuse>> PastFuse::listen(cache::ResidentParts* parts,
                                                   const fuse::MountContext& context,
                                                   const config::MountConfig& config) {
  if (parts == nullptr) return nullptr;
  std::unique_ptr<PastFuse> made(new PastFuse(*parts, context, config));
  auto listening = AttachSocket::listen(context.attach_socket, made->service_);
  if (!listening) return std::unexpected(listening.error());
  made->socket_ = std::move(*listening);
  return made;
}

PastFuse::PastFuse(cache::ResidentParts& parts, const fuse::MountContext& context,
                   const config::MountConfig& config)
    : context_(context),
      service_(parts, [this](int descriptor) { return version_of(descriptor); }, context.clock,
               context.metrics,
               {.part_bytes = kPartBytes,
                .ahead_bytes_max = config.read_ahead.window_max_bytes,
                .part_time = config.retry.deadline}) {}

Result<cache::ObjectVersion> PastFuse::version_of(int descriptor) const {
  const auto ino = opened_inode(descriptor, device_);
  if (!ino) return std::unexpected(ino.error());
  return context_.file_system_of(*ino).version_of(*ino);
}

}  // namespace s3rdmafs::daemon
