// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/resident_service.h"

#include <utility>

#include "daemon/resident/warm_request.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {

Result<std::unique_ptr<ResidentService>> ResidentService::listen(Options options,
                                                                 const Bucket& bucket,
                                                                 cache::ObjectCache* cache,
                                                                 metrics::Registry& metrics) {
  std::unique_ptr<ResidentService> service(new ResidentService());
  auto control = ControlSocket::listen(
      std::move(options.socket_path),
      [bucket, cache](ControlRequest& request) { answer_request(bucket, cache, request); });
  if (!control) return std::unexpected(control.error());
  service->control_ = std::move(*control);
  if (options.globs.empty()) return service;
  if (cache == nullptr) {
    spdlog::warn(
        "resident: this mount has no passthrough; the objects of [[resident]] are not kept");
    return service;
  }
  service->keeper_ =
      std::make_unique<ResidentKeeper>(bucket, *cache, metrics, std::move(options.globs));
  return service;
}

void ResidentService::start_keeping() {
  if (keeper_) keeper_->start();
}

void ResidentService::stop() {
  control_->stop();
  if (keeper_) keeper_->stop();
}

}  // namespace s3rdmafs::daemon
