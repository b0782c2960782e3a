// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/version.h"

#include <string_view>

#include <curl/curl.h>

#include "daemon/commit.h"
#include "fuse/lowlevel.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

#ifdef S3RDMAFS_HAVE_DC
constexpr std::string_view kFabrics = "shm, rc, dc";
#else
constexpr std::string_view kFabrics = "shm, rc (built without dc)";
#endif

}  // namespace

std::string version_text() {
  return fmt::format("{} (commit {})\nfabrics: {}\nlibfuse {}, {}", S3RDMAFS_VERSION,
                     S3RDMAFS_COMMIT, kFabrics, fuse_pkgversion(), curl_version());
}

}  // namespace s3rdmafs::daemon
