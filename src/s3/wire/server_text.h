// SPDX-License-Identifier: Apache-2.0
// What a server's text may be before anything here passes it on: servers may be broken or hostile.
#pragma once

#include <chrono>
#include <cstddef>
#include <ctime>
#include <string_view>

namespace s3rdmafs::s3 {

/// The longest value that is kept of an answer's header, or of a document where it becomes a
/// request's header: ETags, checksums and replies are some tens of bytes.
inline constexpr std::size_t kHeaderValueBytesMax = 1024;

/// A byte below 0x20, or 0x7f: in a header it would end the line and begin another.
[[nodiscard]] bool has_control_character(std::string_view text);

/// Whether a value from a server can be kept, and sent back as a header's.
[[nodiscard]] inline bool is_header_value(std::string_view text) {
  return text.size() <= kHeaderValueBytesMax && !has_control_character(text);
}

/// The nearest time that the clock can hold: it counts nanoseconds in 64 bits, and so ends in 2262.
[[nodiscard]] std::chrono::system_clock::time_point nearest_time(std::time_t seconds);

}  // namespace s3rdmafs::s3
