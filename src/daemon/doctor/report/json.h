// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <toml++/toml.h>

namespace s3rdmafs::daemon::doctor {

/// The table as JSON (RFC 8259), names in order, with a newline at its end. Bytes that are no UTF-8
/// become U+FFFD.
[[nodiscard]] std::string json_text(const toml::table& table);

/// `text` with U+FFFD in place of each byte that belongs to no character of UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// Changes every text below, names left out.
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
