// SPDX-License-Identifier: Apache-2.0
#include "vfs/staged/staged_file_maker.h"

#include <utility>

#include "vfs/metadata/posix_metadata.h"

namespace s3rdmafs::vfs {

Result<std::shared_ptr<StagedFile>> StagedFileMaker::make(StagedFile::Start start) {
  upload::StagedIdentity identity{.key = start.key,
                                  .base = {},
                                  .metadata = posix_ == PosixMetadata::kOff
                                                  ? start.metadata
                                                  : without_posix_times(start.metadata)};
  if (start.base) {
    const s3::ObjectInfo& object = start.base->object;
    identity.base = {.etag = object.etag, .size_bytes = object.size_bytes};
  }
  auto bytes =
      start.is_whole ? area_.create_whole(std::move(identity)) : area_.create(std::move(identity));
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  start.number = ++last_number_;
  start.posix = posix_;
  return std::make_shared<StagedFile>(cache_, clock_, std::move(*bytes), std::move(start));
}

}  // namespace s3rdmafs::vfs
