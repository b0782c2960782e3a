// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/names/node.h"

namespace s3rdmafs::vfs {

/// Asks the store what a key stands for: HeadObject of the key and a listing of one entry below
/// "key/", both at once, since S3 has no directories and either may exist without the other.
///
///  * The listing has an entry: a directory, at once, whatever HeadObject answers.
///  * The listing is empty: HeadObject's answer: a file, nothing (an empty optional), or its error.
///  * The listing failed: its error, even where HeadObject found an object, since a file is certain
///    only where no directory hides it.
void probe(s3::ObjectStore& store, std::string key, Deadline deadline,
           Done<std::optional<Node>> done);

}  // namespace s3rdmafs::vfs
