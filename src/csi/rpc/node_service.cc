// SPDX-License-Identifier: Apache-2.0
#include "csi/rpc/node_service.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "csi/rpc/answer.h"

namespace s3rdmafs::csi {
namespace {

template <class Map>
Texts texts_of(const Map& map) {
  return {map.begin(), map.end()};
}

Capability capability_of(const ::csi::v1::VolumeCapability& wire) {
  Capability capability;
  capability.is_mount = wire.has_mount();
  capability.fs_type = wire.mount().fs_type();
  capability.mount_flags.assign(wire.mount().mount_flags().begin(),
                                wire.mount().mount_flags().end());
  capability.mount_group = wire.mount().volume_mount_group();
  capability.mode = static_cast<AccessMode>(wire.access_mode().mode());
  return capability;
}

std::int64_t wire_number(std::uint64_t number) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(number, kMax));
}

void add_usage(const FileSystemNumbers& numbers, ::csi::v1::NodeGetVolumeStatsResponse& response) {
  auto* const bytes = response.add_usage();
  bytes->set_unit(::csi::v1::VolumeUsage::BYTES);
  bytes->set_total(wire_number(numbers.bytes_total));
  bytes->set_available(wire_number(numbers.bytes_available));
  bytes->set_used(
      wire_number(numbers.bytes_total - std::min(numbers.bytes_free, numbers.bytes_total)));
  auto* const files = response.add_usage();
  files->set_unit(::csi::v1::VolumeUsage::INODES);
  files->set_total(wire_number(numbers.files_total));
  files->set_available(wire_number(numbers.files_free));
  files->set_used(
      wire_number(numbers.files_total - std::min(numbers.files_free, numbers.files_total)));
}

}  // namespace

grpc::Status NodeService::NodeStageVolume(grpc::ServerContext* context,
                                          const ::csi::v1::NodeStageVolumeRequest* request,
                                          ::csi::v1::NodeStageVolumeResponse*) {
  const VolumeUse use{.volume = request->volume_id(),
                      .staging_path = request->staging_target_path(),
                      .target_path = {},
                      .capability = capability_of(request->volume_capability()),
                      .read_only = false,
                      .secrets = texts_of(request->secrets()),
                      .context = texts_of(request->volume_context())};
  return answer_with("NodeStageVolume", use.volume,
                     node_.stage(use, deadline_of(*context, clock_)));
}

grpc::Status NodeService::NodeUnstageVolume(grpc::ServerContext* context,
                                            const ::csi::v1::NodeUnstageVolumeRequest* request,
                                            ::csi::v1::NodeUnstageVolumeResponse*) {
  return answer_with("NodeUnstageVolume", request->volume_id(),
                     node_.unstage(request->volume_id(), request->staging_target_path(),
                                   deadline_of(*context, clock_)));
}

grpc::Status NodeService::NodePublishVolume(grpc::ServerContext* context,
                                            const ::csi::v1::NodePublishVolumeRequest* request,
                                            ::csi::v1::NodePublishVolumeResponse*) {
  const VolumeUse use{.volume = request->volume_id(),
                      .staging_path = request->staging_target_path(),
                      .target_path = request->target_path(),
                      .capability = capability_of(request->volume_capability()),
                      .read_only = request->readonly(),
                      .secrets = texts_of(request->secrets()),
                      .context = texts_of(request->volume_context())};
  return answer_with("NodePublishVolume", use.volume,
                     node_.publish(use, deadline_of(*context, clock_)));
}

grpc::Status NodeService::NodeUnpublishVolume(grpc::ServerContext* context,
                                              const ::csi::v1::NodeUnpublishVolumeRequest* request,
                                              ::csi::v1::NodeUnpublishVolumeResponse*) {
  return answer_with(
      "NodeUnpublishVolume", request->volume_id(),
      node_.unpublish(request->volume_id(), request->target_path(), deadline_of(*context, clock_)));
}

grpc::Status NodeService::NodeGetVolumeStats(grpc::ServerContext* context,
                                             const ::csi::v1::NodeGetVolumeStatsRequest* request,
                                             ::csi::v1::NodeGetVolumeStatsResponse* response) {
  auto health =
      node_.look(request->volume_id(), request->volume_path(), deadline_of(*context, clock_));
  if (!health) {
    return answer_with("NodeGetVolumeStats", request->volume_id(), std::unexpected(health.error()));
  }
  if (health->numbers) add_usage(*health->numbers, *response);
  response->mutable_volume_condition()->set_abnormal(health->is_abnormal);
  response->mutable_volume_condition()->set_message(health->message);
  return grpc::Status::OK;
}

grpc::Status NodeService::NodeGetCapabilities(grpc::ServerContext*,
                                              const ::csi::v1::NodeGetCapabilitiesRequest*,
                                              ::csi::v1::NodeGetCapabilitiesResponse* response) {
  using Rpc = ::csi::v1::NodeServiceCapability::RPC;
  for (const auto type : {Rpc::STAGE_UNSTAGE_VOLUME, Rpc::GET_VOLUME_STATS, Rpc::VOLUME_CONDITION,
                          Rpc::SINGLE_NODE_MULTI_WRITER, Rpc::VOLUME_MOUNT_GROUP}) {
    response->add_capabilities()->mutable_rpc()->set_type(type);
  }
  return grpc::Status::OK;
}

grpc::Status NodeService::NodeGetInfo(grpc::ServerContext*, const ::csi::v1::NodeGetInfoRequest*,
                                      ::csi::v1::NodeGetInfoResponse* response) {
  response->set_node_id(node_id_);
  return grpc::Status::OK;
}

}  // namespace s3rdmafs::csi
