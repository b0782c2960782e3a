// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/mount_config.h"
#include "s3/http_object_store.h"

namespace s3rdmafs::daemon {

/// The options of the object store that the mount file sets. The only place where config meets s3.
[[nodiscard]] s3::HttpObjectStore::Options store_options(const config::MountConfig& config);

}  // namespace s3rdmafs::daemon
