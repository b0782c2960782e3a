// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "target/http/message.h"
#include "target/rdma/rc/rc_service.h"

namespace s3rdmafs::target {

/// Serves POST /.s3rdma-rc/connect and /.s3rdma-rc/disconnect, and passes all else on.
/// Requests there are not signed: the dialect has no authentication (s3rdmafs-protocol(7)).
class RcControl final : public Handler {
 public:
  /// @param rc    borrowed; nullptr: there is no device, and connecting is answered by 404
  /// @param next  borrowed; serves every other request
  RcControl(RcService* rc, Handler& next) : rc_(rc), next_(next) {}
  /// Also tells hipObject's clients that their handshake (POST /.hipobj-rc/...) is not spoken here.
  std::unique_ptr<Exchange> begin(Request request) override;

 private:
  RcService* rc_;
  Handler& next_;
};

}  // namespace s3rdmafs::target
