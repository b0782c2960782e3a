// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "s3/object_store.h"

namespace s3rdmafs::vfs {

/// Numbers for keys, in nearly the order of the keys, learned from a page of them: for guesses of
/// where a later page begins. A wrong guess costs a request, never a name. Immutable.
class KeyScale {
 public:
  /// @param prefix  of the directory
  /// @param sample  keys of it, of which the bytes at each place are learned
  KeyScale(std::string_view prefix, const std::vector<s3::ObjectInfo>& sample);

  [[nodiscard]] std::uint64_t number_of(std::string_view key) const;
  /// A key, which need not exist, with about this number. UTF-8, whatever the sample is.
  [[nodiscard]] std::string key_of(std::uint64_t number) const;

 private:
  std::string prefix_;
  std::vector<std::string> alphabets_;  ///< the bytes that may stand at each place, ascending
};

}  // namespace s3rdmafs::vfs
