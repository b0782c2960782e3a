// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "s3/object_store.h"
#include "s3/object_writer.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/files/handle_table.h"
#include "vfs/names/names.h"

namespace s3rdmafs::vfs {

/// The needs of every way to write. Store, writer and clock are borrowed.
struct WritingContext {
  s3::ObjectStore& store;
  s3::ObjectWriter& writer;
  const Clock& clock;
  std::shared_ptr<HandleTable> handles;
  std::shared_ptr<Names> names;
  PosixMetadata posix = PosixMetadata::kOff;
};

}  // namespace s3rdmafs::vfs
