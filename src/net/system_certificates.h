// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace s3rdmafs::net {

/// The file of certificates that this machine trusts, where libcurl's own default does not name one
/// that is there: a libcurl that was built for one distribution runs on all of them. Distributions
/// keep the file at different places.
/// @param built_in  libcurl's default; empty: it has none
/// @param is_there  whether a file can be read
/// @return empty: libcurl's default serves, or nothing is there
std::string choose_certificates(std::string_view built_in,
                                const std::function<bool(std::string_view path)>& is_there);

/// choose_certificates() for this machine and this libcurl. Asked once for a process.
const std::string& system_certificates();

}  // namespace s3rdmafs::net
