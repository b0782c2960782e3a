// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/leftover_source.h"

#include <algorithm>
#include <expected>
#include <vector>

#include "daemon/mount/await.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon {
namespace {

/// So much of a file is compared at once.
constexpr std::uint64_t kComparedBytes = 8 * kMiB;

/// Reads bytes of one version.
Result<void> read_version(s3::ObjectStore& store, rdma::Fabric& fabric, const std::string& key,
                          const std::string& etag, std::uint64_t offset_bytes,
                          std::span<std::byte> out, Deadline deadline) {
  auto region = fabric.register_memory({.bytes = out}, rdma::Access::kRemoteWrite);
  if (!region) return std::unexpected(region.error());
  using Answer = std::expected<s3::Path, s3::GetFailure>;
  const Answer answer = await<Answer>([&](auto done) {
    store.get({.key = key,
               .etag = etag,
               .offset_bytes = offset_bytes,
               .window = {.region = region->get(), .offset = 0, .length = out.size()}},
              deadline, std::move(done));
  });
  if (!answer) return std::unexpected(answer.error().error);
  return {};
}

/// Whether the object has each entry of the file's metadata; it may have more.
bool has_metadata(const s3::ObjectInfo& object, const s3::UserMetadata& wanted) {
  if (!object.metadata) return wanted.empty();
  return std::ranges::all_of(wanted, [&](const auto& entry) {
    return std::ranges::find(*object.metadata, entry) != object.metadata->end();
  });
}

}  // namespace

// Blocks its thread for the server too: nothing else needs that thread here.
void LeftoverSource::read(std::uint64_t offset_bytes, std::span<std::byte> out, Deadline deadline,
                          Done<void> done) {
  const upload::StagedIdentity identity = file_.identity();
  for (const auto& run : file_.runs({offset_bytes, offset_bytes + out.size()})) {
    const auto some = out.subspan(run.bytes.begin - offset_bytes, run.bytes.size());
    const Result<void> read = run.is_local
                                  ? file_.read(run.bytes.begin, some)
                                  : read_version(store_, fabric_, identity.key, identity.base->etag,
                                                 run.bytes.begin, some, deadline);
    if (!read) return done(read);
  }
  done({});
}

Result<bool> is_stored_already(upload::StagingFile& file, s3::ObjectStore& store,
                               rdma::Fabric& fabric, const Clock& clock,
                               std::chrono::milliseconds request_time) {
  const upload::StagedIdentity identity = file.identity();
  const auto object = await<Result<s3::ObjectInfo>>(
      [&](auto done) { store.head(identity.key, clock.now() + request_time, std::move(done)); });
  if (!object && object.error().code == ErrorCode::kNotFound) return false;
  if (!object) return std::unexpected(object.error());
  if (object->size_bytes != file.size_bytes() || !has_metadata(*object, identity.metadata)) {
    return false;
  }
  std::vector<std::byte> staged;
  std::vector<std::byte> stored;
  const upload::ByteRanges dropped = file.dropped();
  upload::ByteRanges local = file.changed();
  local.subtract(dropped);
  // The bytes that are lost may be all that tells it from its base, or from another client's.
  const bool is_base = identity.base && identity.base->etag == object->etag;
  if (!dropped.empty() && (is_base || local.empty())) return false;
  for (const upload::ByteRange range : local.list()) {
    for (std::uint64_t at = range.begin; at < range.end; at += staged.size()) {
      staged.resize(std::min<std::uint64_t>(kComparedBytes, range.end - at));
      stored.resize(staged.size());
      if (auto read = file.read(at, staged); !read) return std::unexpected(read.error());
      auto got = read_version(store, fabric, identity.key, object->etag, at, stored,
                              clock.now() + request_time);
      if (!got) return std::unexpected(got.error());
      if (staged != stored) return false;
    }
  }
  return true;
}

}  // namespace s3rdmafs::daemon
