// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace s3rdmafs {

/// The names of an enum's values, which count from 0 to `kLast`. The compiler refuses a table that
/// lacks one of these or has them in another order. It cannot see a value that is added after
/// `kLast`, which would be "Unknown": name the new last value here. Immutable.
template <auto kLast>
class EnumNames {
 public:
  using Enum = decltype(kLast);
  struct Row {
    Enum value;
    std::string_view name;
  };
  static constexpr std::size_t kCount = static_cast<std::size_t>(kLast) + 1;

  consteval explicit EnumNames(const Row (&rows)[kCount]) {
    for (std::size_t i = 0; i < kCount; ++i) {
      if (static_cast<std::size_t>(rows[i].value) != i) throw "the rows must follow the enum";
      names_[i] = rows[i].name;
    }
  }

  /// "Unknown" for another value.
  [[nodiscard]] constexpr std::string_view operator[](Enum value) const noexcept {
    const auto at = static_cast<std::size_t>(value);
    return at < kCount ? names_[at] : "Unknown";
  }

 private:
  std::array<std::string_view, kCount> names_;
};

}  // namespace s3rdmafs
