// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// One open of a recorded job.
struct TracedOpen {
  std::chrono::milliseconds at{};  ///< since the recording began
  s3::ObjectInfo version;          ///< key, ETag and size
};

/// "MILLISECONDS BYTES ETAG KEY", without a line break; ETag and key as escaped_field() has them.
[[nodiscard]] std::string to_line(const TracedOpen& open);
/// Errors: kProtocol, where the text is not one of to_line().
[[nodiscard]] Result<TracedOpen> parse_line(std::string_view line);

/// The files that a job read, in the order of their first opens, as text: a line that says what it
/// is, then a line for each file. Thread-bound.
class ReadTrace {
 public:
  ReadTrace();
  /// Does nothing for a key that is there already.
  void add(const TracedOpen& open);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t files() const { return keys_.size(); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::string text_;
  std::unordered_set<std::string> keys_;
  std::uint64_t bytes_ = 0;
};

/// The versions that a trace names, in its order.
/// Errors: kSystem; kProtocol, with the path and the line that is wrong.
[[nodiscard]] Result<std::vector<s3::ObjectInfo>> load_trace(const std::string& path);

}  // namespace s3rdmafs::daemon
