// SPDX-License-Identifier: Apache-2.0
// A key's value between its spelling and its field of MountConfig.
#pragma once

#include <string>
#include <string_view>

#include "config/keys/schema.h"
#include "config/mount_config.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

/// The TOML types a key's value may have; the environment and `-o` always give kString.
enum class ValueType { kString, kInteger, kBoolean, kStrings, kOther };

/// Whether the mount file may write this key's value as `type`: a size, say, as "64KiB" or as a
/// plain number of bytes.
[[nodiscard]] bool accepts_type(const Rule& rule, ValueType type);

/// The form of a value: "a size from 64MiB to 16TiB in steps of 8MiB".
[[nodiscard]] std::string expectation(const Rule& rule);

/// Stores the value spelled `text` in the key's field.
/// Errors: kInvalidArgument, with the value found and the values expected; nothing is stored.
[[nodiscard]] Result<void> set_value(const Key& key, std::string_view text, MountConfig& config);

/// The field's value as the mount file spells it, quotes included; secrets too.
[[nodiscard]] std::string toml_value(const Key& key, MountConfig& config);

/// `text` as a TOML basic string, in quotes and escaped.
[[nodiscard]] std::string toml_string(std::string_view text);

}  // namespace s3rdmafs::config
