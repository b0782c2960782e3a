// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/names/node.h"

namespace s3rdmafs::vfs {

/// The answer to the question for a key.
struct Found {
  std::optional<Node> node;               ///< empty: nothing
  std::optional<s3::ListPage> page = {};  ///< of a directory: how its listing begins, delimiter "/"
};

/// So many names of a directory come with the answer that it is one. A program that looked up a
/// directory looks up a name in it next, which a server that is far would be asked for once more.
/// So many take 10 KB of an answer, and most directories of a model have no more.
inline constexpr std::uint32_t kNamesWithDirectory = 32;

/// Asks the store what a key stands for: HeadObject of the key and a short listing below "key/",
/// both at once, since S3 has no directories and either may exist without the other.
///
///  * The listing has an entry: a directory, at once, whatever HeadObject answers.
///  * The listing is empty: HeadObject's answer: a file, nothing, or its error.
///  * The listing failed: its error, even where HeadObject found an object, since a file is certain
///    only where no directory hides it.
void probe(s3::ObjectStore& store, std::string key, Deadline deadline, Done<Found> done);

}  // namespace s3rdmafs::vfs
