// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <csi/rpc/grpc.h>

#include "csi/node/volume_node.h"
#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::csi {

/// The calls of kubelet, translated for VolumeNode. Thread-safe.
class NodeService final : public ::csi::v1::Node::Service {
 public:
  /// @param node, clock  outlive this
  NodeService(std::string node_id, VolumeNode& node, const Clock& clock)
      : node_id_(std::move(node_id)), node_(node), clock_(clock) {}

  grpc::Status NodeStageVolume(grpc::ServerContext* context,
                               const ::csi::v1::NodeStageVolumeRequest* request,
                               ::csi::v1::NodeStageVolumeResponse* response) override;
  grpc::Status NodeUnstageVolume(grpc::ServerContext* context,
                                 const ::csi::v1::NodeUnstageVolumeRequest* request,
                                 ::csi::v1::NodeUnstageVolumeResponse* response) override;
  grpc::Status NodePublishVolume(grpc::ServerContext* context,
                                 const ::csi::v1::NodePublishVolumeRequest* request,
                                 ::csi::v1::NodePublishVolumeResponse* response) override;
  grpc::Status NodeUnpublishVolume(grpc::ServerContext* context,
                                   const ::csi::v1::NodeUnpublishVolumeRequest* request,
                                   ::csi::v1::NodeUnpublishVolumeResponse* response) override;
  grpc::Status NodeGetVolumeStats(grpc::ServerContext* context,
                                  const ::csi::v1::NodeGetVolumeStatsRequest* request,
                                  ::csi::v1::NodeGetVolumeStatsResponse* response) override;
  grpc::Status NodeGetCapabilities(grpc::ServerContext* context,
                                   const ::csi::v1::NodeGetCapabilitiesRequest* request,
                                   ::csi::v1::NodeGetCapabilitiesResponse* response) override;
  grpc::Status NodeGetInfo(grpc::ServerContext* context,
                           const ::csi::v1::NodeGetInfoRequest* request,
                           ::csi::v1::NodeGetInfoResponse* response) override;

 private:
  const std::string node_id_;
  VolumeNode& node_;
  const Clock& clock_;
};

}  // namespace s3rdmafs::csi
