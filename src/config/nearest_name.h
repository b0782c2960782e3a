// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace s3rdmafs::config {

/// "; did you mean NAME?" for the known name nearest to `wrong`, or empty where none is near: by
/// edit distance, at most about a third of the name, so that no guess is silly.
[[nodiscard]] std::string did_you_mean(std::string_view wrong, std::span<const std::string> known);

}  // namespace s3rdmafs::config
