// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "s3/exchanges/query_exchange.h"

namespace s3rdmafs::s3 {

/// An operation by HTTP's DELETE: of an object, or of an upload. Also succeeds if there is nothing
/// to remove, as S3 defines it.
struct Removal {
  std::string_view verb;  ///< for error texts; static
  std::string key;
  NameValues parameters = {};  ///< of an upload: its id
  NameValues headers = {};     ///< a condition
};
[[nodiscard]] std::unique_ptr<Exchange> make_removal(Removal removal, Done<void> done);

}  // namespace s3rdmafs::s3
