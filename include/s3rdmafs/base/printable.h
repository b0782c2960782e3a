// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace s3rdmafs {

/// A text as one line that a terminal shows and does not obey: each control character is written as
/// an escape ("\n", "\t", "\x1b", "\u009b"). Names of files and texts of servers may have any
/// bytes; whatever is logged or shown to a person goes through here once. UTF-8 is left as it is
/// but for its controls, U+0080 to U+009F; a backslash stays one. Reentrant.
[[nodiscard]] std::string printable(std::string_view text);

/// The same for a text of several lines: its line feeds stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace s3rdmafs
