// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/server_text.h"

#include <algorithm>
#include <cstdint>

namespace s3rdmafs::s3 {

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7F; });
}

std::chrono::system_clock::time_point nearest_time(std::time_t seconds) {
  using Time = std::chrono::system_clock::time_point;
  constexpr std::int64_t kFirst =
      std::chrono::duration_cast<std::chrono::seconds>(Time::min().time_since_epoch()).count();
  constexpr std::int64_t kLast =
      std::chrono::duration_cast<std::chrono::seconds>(Time::max().time_since_epoch()).count();
  return std::chrono::system_clock::from_time_t(std::clamp<std::int64_t>(seconds, kFirst, kLast));
}

}  // namespace s3rdmafs::s3
