// SPDX-License-Identifier: Apache-2.0
// Checks of text from servers, which may be broken or hostile, before it is used.
#pragma once

#include <chrono>
#include <cstddef>
#include <ctime>
#include <string_view>

namespace s3rdmafs::s3 {

/// The longest header value that is kept of an answer. Also the limit for a document's text that
/// becomes a request's header. ETags, checksums and replies are some tens of bytes.
inline constexpr std::size_t kHeaderValueBytesMax = 1024;

/// Whether a byte is below 0x20 or is 0x7f: in a header it could end the line and begin another.
[[nodiscard]] bool has_control_character(std::string_view text);

/// Whether a value from a server can be kept and sent back in a header.
[[nodiscard]] inline bool is_header_value(std::string_view text) {
  return text.size() <= kHeaderValueBytesMax && !has_control_character(text);
}

/// The nearest time that the clock can hold. It counts nanoseconds in 64 bits and ends in 2262.
[[nodiscard]] std::chrono::system_clock::time_point nearest_time(std::time_t seconds);

}  // namespace s3rdmafs::s3
