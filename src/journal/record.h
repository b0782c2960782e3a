// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace s3rdmafs::journal {

/// One event of a journal: its kind, and fields of any bytes. Plain value.
struct Record {
  std::string kind;                 ///< a word of the program's own, not empty: "rename-begun"
  std::vector<std::string> fields;  ///< any bytes, also none

  friend bool operator==(const Record&, const Record&) = default;
};

/// The record as one line of text with its newline: the CRC-32C of the rest in 8 hexadecimal
/// digits, then kind and fields, a tab before each. Bytes of a field outside "!" to "~", and "%",
/// are written as "%XX".
[[nodiscard]] std::string line_of(const Record& record);

/// The record of one line without its newline; nothing where it is torn or damaged.
[[nodiscard]] std::optional<Record> parse_line(std::string_view line);

}  // namespace s3rdmafs::journal
