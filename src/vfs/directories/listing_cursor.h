// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "s3/object_store.h"

namespace s3rdmafs::vfs {

/// The position in the pages of one listing. It owns the continuation token, and detects a server
/// whose tokens never lead to an end. All code that follows tokens uses one. Plain value.
class ListingCursor {
 public:
  /// Consecutive pages without any entry that a listing may have. A server may answer some such
  /// pages, but so many mean that the listing has no end.
  static constexpr std::uint32_t kEmptyPagesMax = 10'000;

  /// The token of the next page; empty: it is the first.
  [[nodiscard]] const std::string& token() const { return token_; }
  /// Whether the last page has been passed.
  [[nodiscard]] bool is_at_end() const { return is_at_end_; }

  /// Moves past `page`, which was requested with token(). After an error the cursor stays.
  /// Errors: kProtocol, where the page leads back to one that was read, or to no end.
  [[nodiscard]] Result<void> pass(const s3::ListPage& page);

 private:
  std::string token_;
  std::string earlier_token_;  ///< one of those passed
  std::uint64_t passed_ = 0;   ///< pages
  std::uint64_t kept_until_ = 1;
  std::uint32_t empty_pages_ = 0;
  bool is_at_end_ = false;
};

}  // namespace s3rdmafs::vfs
