// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/leftover_source.h"

#include <expected>

#include "daemon/mount/await.h"

namespace s3rdmafs::daemon {

// Blocks its thread for the server too: nothing else needs that thread here.
void LeftoverSource::read(std::uint64_t offset_bytes, std::span<std::byte> out, Deadline deadline,
                          Done<void> done) {
  for (const auto& run : file_.runs({offset_bytes, offset_bytes + out.size()})) {
    const auto some = out.subspan(run.bytes.begin - offset_bytes, run.bytes.size());
    const Result<void> read = run.is_local ? file_.read(run.bytes.begin, some)
                                           : read_base(run.bytes.begin, some, deadline);
    if (!read) return done(read);
  }
  done({});
}

Result<void> LeftoverSource::read_base(std::uint64_t offset_bytes, std::span<std::byte> out,
                                       Deadline deadline) {
  const upload::StagedIdentity identity = file_.identity();
  auto region = fabric_.register_memory({.bytes = out}, rdma::Access::kRemoteWrite);
  if (!region) return std::unexpected(region.error());
  using Answer = std::expected<s3::Path, s3::GetFailure>;
  const Answer answer = await<Answer>([&](auto done) {
    store_.get({.key = identity.key,
                .etag = identity.base->etag,
                .offset_bytes = offset_bytes,
                .window = {.region = region->get(), .offset = 0, .length = out.size()}},
               deadline, std::move(done));
  });
  if (!answer) return std::unexpected(answer.error().error);
  return {};
}

}  // namespace s3rdmafs::daemon
