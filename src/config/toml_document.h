// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

/// Where in a text something stands; both count from 1.
struct Position {
  unsigned line = 1;
  unsigned column = 1;
};

/// One `key = value` of a TOML text.
struct TomlEntry {
  std::string section;  ///< empty: above the first [section]
  std::string name;
  ValueType type = ValueType::kOther;
  std::string_view type_name;  ///< as TOML calls it: "string", "array", ...
  std::string text;  ///< the value's spelling, without quotes; empty for kOther; the items
                     ///< of kStrings have commas between
  Position name_position;
  Position value_position;
};

struct TomlSection {
  std::string name;
  Position position;
};

/// One [[name]]: a table of an array of them.
struct TomlTable {
  std::string name;
  Position position;
  /// With the array's name as their section; those of a table within, with that one's name.
  std::vector<TomlEntry> entries;
};

/// A TOML text taken apart, with nothing checked but its syntax; in the order of the text.
struct TomlDocument {
  std::vector<TomlSection> sections;
  std::vector<TomlEntry> entries;
  std::vector<TomlTable> tables;
};

/// Errors: kConfig, "NAME:LINE:COLUMN: the error"; messages call the text `name`.
[[nodiscard]] Result<TomlDocument> parse_toml(std::string_view text, std::string_view name);

}  // namespace s3rdmafs::config
