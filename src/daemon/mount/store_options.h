// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "config/credentials/credentials.h"
#include "config/mount_config.h"
#include "s3/http_object_store.h"

namespace s3rdmafs::daemon {

/// The options of the object store that the mount file sets. The only place where config meets s3.
[[nodiscard]] s3::HttpObjectStore::Options store_options(const config::MountConfig& config);

/// The keys of a mount file's bucket; see credentials::open_credentials(). Borrows the clock and
/// the metrics.
[[nodiscard]] Result<std::unique_ptr<s3::CredentialSource>> open_keys(
    const config::CredentialChoice& choice, const config::MountConfig& config, const Clock& clock,
    metrics::Registry& metrics);

}  // namespace s3rdmafs::daemon
