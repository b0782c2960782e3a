// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "s3/object_writer.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/names/names.h"

namespace s3rdmafs::vfs {

/// Stores an object without bytes, and tells the names of its ETag. `done` rules as in
/// base/callback.h. Errors: those of ObjectWriter::put.
/// @param writer  borrowed
void store_empty(s3::ObjectWriter& writer, std::shared_ptr<Names> names, std::string key,
                 s3::Precondition when, Deadline deadline, Done<void> done);

}  // namespace s3rdmafs::vfs
