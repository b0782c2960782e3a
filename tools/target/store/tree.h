// SPDX-License-Identifier: Apache-2.0
// Small walks over a folder's entries, without following symbolic links.
#pragma once

#include <functional>

namespace s3rdmafs::target {

/// Calls `visit(name, d_type)` for every entry but "." and "..", until it returns false.
/// d_type is never DT_UNKNOWN: file systems that do not say are asked. 0 or errno.
int for_each_entry(int folder, const std::function<bool(const char*, unsigned char)>& visit);

/// Whether a plain file or a marked folder is anywhere below. Stops at the first.
[[nodiscard]] bool contains_key(int folder);

/// Removes the empty folders below, deepest first. Leaves everything else.
void remove_empty_folders(int folder);

}  // namespace s3rdmafs::target
