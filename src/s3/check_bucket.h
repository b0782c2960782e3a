// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "s3/object_store.h"

namespace s3rdmafs::s3 {

/// Checks that the bucket exists and may be listed below `prefix`; a mount asks this first. A
/// listing of one key proves the endpoint, the bucket, the credentials and the right to list.
/// Errors: those of ObjectStore::list; their detail can be shown to a user.
void check_bucket(ObjectStore& store, std::string prefix, Deadline deadline, Done<void> done);

}  // namespace s3rdmafs::s3
