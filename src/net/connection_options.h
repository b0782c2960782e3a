// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace s3rdmafs::net {

enum class TlsVersion { k12, k13 };

/// The settings of connections to a server. Plain value; paths are of PEM files.
struct ConnectionOptions {
  std::string ca_file = {};             ///< certificates to trust; empty: the system's
  std::string client_certificate = {};  ///< that this client shows; empty: none
  std::string client_key = {};          ///< its private key; empty: client_certificate has it
  TlsVersion tls_min = TlsVersion::k12;
  /// The proxy's URL; "none"; or "auto": the environment's (http_proxy and its like), except to
  /// this host.
  std::string proxy = "auto";
};

}  // namespace s3rdmafs::net
