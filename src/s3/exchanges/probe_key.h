// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace s3rdmafs::s3 {

/// The key of a probe for an object that is to be stored as `key`: random, in the same folder, and
/// hidden from `ls`.
[[nodiscard]] std::string probe_key(const std::string& key);

}  // namespace s3rdmafs::s3
