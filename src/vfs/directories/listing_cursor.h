// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "s3/object_store.h"

namespace s3rdmafs::vfs {

/// The way through the pages of one listing: it owns the continuation token, and notices a server
/// whose tokens never lead to an end. Everything that follows tokens goes by one. Plain value.
class ListingCursor {
 public:
  /// Pages without any entry, one after another, that a listing may have. A server may well answer
  /// some such pages, but so many are no listing any more.
  static constexpr std::uint32_t kEmptyPagesMax = 10'000;

  /// What to ask for the next page with; empty: it is the first.
  [[nodiscard]] const std::string& token() const { return token_; }
  /// Whether the last page has been passed.
  [[nodiscard]] bool is_at_end() const { return is_at_end_; }

  /// Goes past `page`, which was asked for with token(). After an error the cursor stays.
  /// Errors: kProtocol, where the page leads back to one that was read, or nowhere.
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
