// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace s3rdmafs {

/// The text as one line that is safe to show on a terminal: each control character becomes an
/// escape ("\n", "\t", "\x1b", "\u009b"). File names and servers' texts may hold any bytes, so
/// every text that is logged or shown to a person passes through here once. Other UTF-8 stays as it
/// is, and so does a backslash. Reentrant.
[[nodiscard]] std::string printable(std::string_view text);

/// The same for a text of several lines: its line feeds stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace s3rdmafs
