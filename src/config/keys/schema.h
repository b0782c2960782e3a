// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/environment.h"
#include "config/mount_config.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

/// Reaches the one field of a MountConfig that a key sets.
template <class T>
using Field = T& (*)(MountConfig&);

/// The form of a key's value: one struct per type, each with the field it sets and its bounds.
/// Bounds are inclusive.
struct Text {
  Field<std::string> field;
  /// Gives the spelling to store. Errors: kInvalidArgument, with the expected form.
  Result<std::string> (*check)(std::string_view);
};
struct TextList {  ///< an array of texts; as one text, with commas between. None: not set
  Field<std::vector<std::string>> field;
  Result<std::string> (*check)(std::string_view);  ///< of each
  std::size_t items_max;
};
struct Boolean {
  Field<bool> field;
};
struct Integer {
  Field<unsigned> field;
  unsigned min;
  unsigned max;
};
struct Size {
  Field<std::uint64_t> field;
  std::uint64_t min;
  std::uint64_t max;
  std::uint64_t multiple;  ///< a power of two; 1: any
};
struct SizeOrAuto {  ///< "auto" is an empty optional
  Field<std::optional<std::uint64_t>> field;
  std::uint64_t min;
  std::uint64_t max;
};
struct Duration {
  Field<std::chrono::milliseconds> field;
  std::chrono::milliseconds min;
  std::chrono::milliseconds max;
};
struct Mode {  ///< permission bits, written in octal
  Field<mode_t> field;
};
struct HexKey {  ///< up to 16 hexadecimal digits; "0x" may stand before them
  Field<std::uint64_t> field;
};
template <class T>
struct Choice {
  Field<T> field;
  std::span<const std::pair<std::string_view, T>> names;
};

using Rule =
    std::variant<Text, TextList, Boolean, Integer, Size, SizeOrAuto, Duration, Mode, HexKey,
                 Choice<RdmaMode>, Choice<ByteCount>, Choice<Verify>, Choice<FabricChoice>,
                 Choice<DcTokenForm>, Choice<AddressingStyle>, Choice<Transport>, Choice<CacheLock>,
                 Choice<WriteMode>, Choice<ReadMode>, Choice<OpenCheck>, Choice<PosixMetadata>,
                 Choice<Encryption>, Choice<net::TlsVersion>, Choice<Profile>, Choice<LogFormat>>;

/// The value of a key that is not set.
struct Default {
  std::string_view text;  ///< as the mount file would say it, without quotes
  /// Set if the value depends on the mounting user; `text` then only describes it.
  std::string (*compute)(const Environment&) = nullptr;
};

/// One key of the mount file. The parser, the environment, `-o`, `s3rdmafs config` and the test of
/// s3rdmafs.toml(5) all read this.
struct Key {
  std::string_view section;  ///< empty: above all sections
  std::string_view name;
  Rule rule;
  std::optional<Default> standard;  ///< none: the key is required
  std::string_view description;     ///< one line
  bool is_secret = false;           ///< never printed, never taken from the command line

  [[nodiscard]] std::string full_name() const;      ///< "cache.size"
  [[nodiscard]] std::string variable_name() const;  ///< "S3RDMAFS_CACHE_SIZE"
};

/// Every key, section by section in the order of the man page.
[[nodiscard]] std::span<const Key> schema() noexcept;

/// The key called "section.name", or "name" where the section is empty; or nullptr.
[[nodiscard]] const Key* find_key(std::string_view section, std::string_view name) noexcept;

}  // namespace s3rdmafs::config
