// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/object_store.h"

namespace s3rdmafs::s3 {

/// Whether the bucket is there and may be read below `prefix`: what a mount asks before it mounts.
/// One listing of one key proves the endpoint, the bucket, the credentials and the right to list.
/// Errors: as ObjectStore::list; their detail is fit to be shown as it stands.
void check_bucket(ObjectStore& store, std::string prefix, Deadline deadline, Done<void> done);

}  // namespace s3rdmafs::s3
