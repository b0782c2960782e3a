// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <csi/rpc/grpc.h>

#include "csi/node/volume_node.h"

namespace s3rdmafs::csi {

/// The driver's name, and whether it can work. Thread-safe.
class IdentityService final : public ::csi::v1::Identity::Service {
 public:
  /// @param node  outlives this
  IdentityService(std::string name, const VolumeNode& node) : name_(std::move(name)), node_(node) {}

  grpc::Status GetPluginInfo(grpc::ServerContext* context,
                             const ::csi::v1::GetPluginInfoRequest* request,
                             ::csi::v1::GetPluginInfoResponse* response) override;
  grpc::Status GetPluginCapabilities(grpc::ServerContext* context,
                                     const ::csi::v1::GetPluginCapabilitiesRequest* request,
                                     ::csi::v1::GetPluginCapabilitiesResponse* response) override;
  grpc::Status Probe(grpc::ServerContext* context, const ::csi::v1::ProbeRequest* request,
                     ::csi::v1::ProbeResponse* response) override;

 private:
  const std::string name_;
  const VolumeNode& node_;
};

}  // namespace s3rdmafs::csi
