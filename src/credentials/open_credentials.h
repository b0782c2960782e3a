// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "config/credentials/credentials.h"
#include "credentials/role_keys.h"
#include "s3/wire/credentials.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::credentials {

/// Gets the first keys of a choice, and renews them from then on where they can change. Blocks as
/// KeySource::fetch() does, and for 20 seconds more where that may help: call it before a mount is
/// ready, after it has forked. Borrows the clock and the metrics. Errors: those of
/// KeySource::fetch(), with the origin.
[[nodiscard]] Result<std::unique_ptr<s3::CredentialSource>> open_credentials(
    const config::CredentialChoice& choice, const Sts& sts, const Clock& clock,
    metrics::Registry& metrics);

}  // namespace s3rdmafs::credentials
