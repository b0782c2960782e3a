// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <toml++/toml.h>

namespace s3rdmafs::daemon::doctor {

/// The table as JSON (RFC 8259), names in order, with a newline at its end. Invalid UTF-8 becomes
/// U+FFFD.
[[nodiscard]] std::string json_text(const toml::table& table);

/// `text` with U+FFFD in place of each byte that is not part of a UTF-8 character.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// Replaces every string value below `node` by change(value); names stay.
template <class Change>
void change_texts(toml::node& node, const Change& change) {
  if (auto* const text = node.as_string()) {
    text->get() = change(text->get());
  } else if (auto* const table = node.as_table()) {
    for (auto&& [name, child] : *table) change_texts(child, change);
  } else if (auto* const array = node.as_array()) {
    for (auto&& child : *array) change_texts(child, change);
  }
}

}  // namespace s3rdmafs::daemon::doctor
