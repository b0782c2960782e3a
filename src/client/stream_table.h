// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace s3rdmafs::client {

/// Which parts follow which: how far ahead to fetch. Thread-bound.
class StreamTable {
 public:
  /// How many parts in a row the stream has taken that takes `part` next; nothing: none does.
  [[nodiscard]] std::optional<unsigned> run_before(std::uint64_t part) const {
    for (const Stream& stream : streams_) {
      if (stream.run > 0 && stream.next == part) return stream.run;
    }
    return std::nullopt;
  }

  /// The part was taken.
  void note(std::uint64_t part) {
    auto at = std::ranges::find_if(
        streams_, [part](const Stream& stream) { return stream.run > 0 && stream.next == part; });
    if (at == streams_.end()) {
      at = std::ranges::min_element(streams_, {}, &Stream::used_at);
      at->run = 0;
    }
    *at = {.next = part + 1, .run = at->run + 1, .used_at = ++time_};
  }

 private:
  struct Stream {
    std::uint64_t next = 0;
    unsigned run = 0;  // 0: free
    std::uint64_t used_at = 0;
  };
  // The workers of a loader that share a file.
  std::array<Stream, 16> streams_{};
  std::uint64_t time_ = 0;
};

}  // namespace s3rdmafs::client
