// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/credentials/credentials.h"
#include "config/mount_config.h"
#include "s3/http_object_store.h"

namespace s3rdmafs::daemon {

/// The options of the object store that the mount file sets. The only place where config meets s3.
[[nodiscard]] s3::HttpObjectStore::Options store_options(const config::MountConfig& config);

/// The resolved credentials as the object store takes them.
[[nodiscard]] s3::Credentials store_credentials(const config::Credentials& found);

}  // namespace s3rdmafs::daemon
