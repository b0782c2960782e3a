// SPDX-License-Identifier: Apache-2.0
#include "net/system_certificates.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include <curl/curl.h>

namespace s3rdmafs::net {
namespace {

// Debian and Ubuntu; Fedora, RHEL and Rocky; SUSE; Alpine.
constexpr std::array<std::string_view, 4> kPlaces = {"/etc/ssl/certs/ca-certificates.crt",
                                                     "/etc/pki/tls/certs/ca-bundle.crt",
                                                     "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

std::string_view built_in_certificates() {
  const curl_version_info_data* const info = curl_version_info(CURLVERSION_NOW);
  return info->cainfo == nullptr ? "" : info->cainfo;
}

}  // namespace

std::string choose_certificates(std::string_view built_in,
                                const std::function<bool(std::string_view path)>& is_there) {
  if (!built_in.empty() && is_there(built_in)) return {};
  const auto* const found = std::ranges::find_if(kPlaces, is_there);
  return found == kPlaces.end() ? "" : std::string(*found);
}

const std::string& system_certificates() {
  static const std::string path = choose_certificates(
      built_in_certificates(),
      [](std::string_view name) { return ::access(std::string(name).c_str(), R_OK) == 0; });
  return path;
}

}  // namespace s3rdmafs::net
