// SPDX-License-Identifier: Apache-2.0
// Cycles. A token that returns leads through the same pages for ever. A listing may have many
// tokens, so one is kept: that of a page whose number is a power of two (Brent's algorithm). A
// cycle is found after at most three times as many pages as it has, or as come before it.
#include "vfs/directories/listing_cursor.h"

namespace s3rdmafs::vfs {

Result<void> ListingCursor::pass(const s3::ListPage& page) {
  const std::string& next = page.next_token;
  if (next.empty()) {
    token_.clear();
    is_at_end_ = true;
    return {};
  }
  if (next == token_ || next == earlier_token_) {
    return fail(ErrorCode::kProtocol,
                "the server repeats a continuation token: its listing never ends");
  }
  const bool is_empty = page.objects.empty() && page.common_prefixes.empty();
  if (is_empty && empty_pages_ == kEmptyPagesMax) {
    return fail(ErrorCode::kProtocol,
                "the server answers empty pages only: its listing never ends");
  }
  empty_pages_ = is_empty ? empty_pages_ + 1 : 0;
  token_ = next;
  if (++passed_ == kept_until_) {
    earlier_token_ = token_;
    kept_until_ *= 2;
  }
  return {};
}

}  // namespace s3rdmafs::vfs
