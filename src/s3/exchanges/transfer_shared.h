// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "s3/endpoints/endpoints.h"
#include "s3/endpoints/hedge_policy.h"
#include "s3/endpoints/verify_sampler.h"
#include "s3/store_metrics.h"
#include "s3/store_options.h"
#include "s3/upload_log.h"
#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::s3 {

/// The parts of a store that all its transfers share. Outlives them.
struct TransferShared {
  Endpoints& endpoints;
  StoreMetrics& metrics;
  VerifySampler& verify;
  VerifySampler& verify_puts;
  HedgePolicy& hedges;
  bool may_hedge = false;  ///< there are several endpoints, and the options allow it
  const Clock& clock;
  RdmaOptions rdma;
  UploadLog* upload_log = nullptr;  ///< null: uploads of the store's own are not noted
};

}  // namespace s3rdmafs::s3
