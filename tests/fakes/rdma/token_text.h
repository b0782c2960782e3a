// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "rdma/fabric.h"

namespace s3rdmafs::fakes {

/// A token's text at once, for fabrics that never make a caller wait. The token counts as answered.
inline Result<std::string> token_text(rdma::MemoryRegion& region, std::size_t offset,
                                      std::size_t length) {
  Result<std::string> text = fail(ErrorCode::kSystem, "the fabric let the test wait");
  region.token(offset, length, Deadline::max(), [&text](Result<rdma::Token> token) {
    if (!token) {
      text = std::unexpected(token.error());
      return;
    }
    text = token->text();
    token->end(rdma::TokenFate::kAnswered);
  });
  return text;
}

}  // namespace s3rdmafs::fakes
