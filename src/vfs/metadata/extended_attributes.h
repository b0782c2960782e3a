// SPDX-License-Identifier: Apache-2.0
// Extended attributes as user metadata, as s3fs keeps them: one entry, "xattr", a JSON object of
// names and base64 values, percent-encoded. Objects move between the two.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "s3/object_store.h"
#include "s3rdmafs/base/error.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// Names that programs may set begin so.
inline constexpr std::string_view kUserAttributePrefix = "user.";

using ExtendedAttributes = std::map<std::string, std::string>;

/// Those of `user.` in the metadata. It comes from other clients: what cannot be one is ignored.
[[nodiscard]] ExtendedAttributes extended_attributes(const s3::UserMetadata& metadata);

/// Keeps everything else, also the attributes of other namespaces that s3fs has kept. Errors:
/// kExists, kNoAttribute (as `change.when` has it, or there is none to remove), kInvalidArgument
/// (the name is not UTF-8).
[[nodiscard]] Result<void> change_extended_attribute(s3::UserMetadata& metadata,
                                                     const ExtendedAttributeChange& change);

}  // namespace s3rdmafs::vfs
