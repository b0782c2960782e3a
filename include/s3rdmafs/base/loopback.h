// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace s3rdmafs {

/// Whether a URL names this host by its loopback address or as "localhost". A request there must
/// not go by a proxy, whatever the environment says.
/// @param url  scheme://host[:port]; the host alone will do
[[nodiscard]] inline bool is_loopback_url(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  if (scheme_end != std::string_view::npos) url.remove_prefix(scheme_end + 3);
  return url.starts_with("127.") || url.starts_with("localhost") || url.starts_with("[::1]");
}

}  // namespace s3rdmafs
