// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/resident_service.h"

#include <utility>

#include "daemon/resident/record_request.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

void refuse(ControlRequest& request) {
  const std::string command = request.words().empty() ? "" : request.words().front();
  request.say("error unknown request '" + command + "': the daemon is of another version");
}

void warn_if_wanted(const std::vector<std::string>& globs) {
  if (globs.empty()) return;
  log::warn("resident: this mount has no passthrough; the objects of [[resident]] are not kept");
}

}  // namespace

Result<std::unique_ptr<ResidentService>> ResidentService::listen(Options options,
                                                                 const Bucket& bucket,
                                                                 const Parts& parts,
                                                                 metrics::Registry& metrics) {
  std::unique_ptr<ResidentService> service(new ResidentService());
  auto control = ControlSocket::listen(std::move(options.socket_path),
                                       [bucket, targets = parts.targets](ControlRequest& request) {
                                         if (!is_warm_request(request)) return refuse(request);
                                         answer_warm_request(bucket, targets, request);
                                       });
  if (!control) return std::unexpected(control.error());
  service->control_ = std::move(*control);
  auto recording = ControlSocket::listen(
      std::move(options.record_socket_path),
      [&trace = parts.trace, also = std::move(options.also_answer)](ControlRequest& request) {
        if (is_record_request(request)) {
          answer_record_request(trace, request);
        } else if (!also || !also(request)) {
          refuse(request);
        }
      },
      "record");
  if (!recording) return std::unexpected(recording.error());
  service->recording_ = std::move(*recording);
  if (parts.targets.whole == nullptr) {
    warn_if_wanted(options.globs);
    return service;
  }
  service->keeper_ = std::make_unique<ResidentKeeper>(bucket, *parts.targets.whole, metrics,
                                                      std::move(options.globs));
  return service;
}

void ResidentService::start_keeping() {
  if (keeper_) keeper_->start();
}

void ResidentService::set_globs(std::vector<std::string> globs) {
  if (!keeper_) return warn_if_wanted(globs);
  keeper_->set_globs(std::move(globs));
}

void ResidentService::stop() {
  control_->stop();
  recording_->stop();
  if (keeper_) keeper_->stop();
}

}  // namespace s3rdmafs::daemon
