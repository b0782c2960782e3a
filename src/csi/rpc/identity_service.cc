// SPDX-License-Identifier: Apache-2.0
#include "csi/rpc/identity_service.h"

#include "csi/rpc/answer.h"

namespace s3rdmafs::csi {

grpc::Status IdentityService::GetPluginInfo(grpc::ServerContext*,
                                            const ::csi::v1::GetPluginInfoRequest*,
                                            ::csi::v1::GetPluginInfoResponse* response) {
  response->set_name(name_);
  response->set_vendor_version(S3RDMAFS_VERSION);
  return grpc::Status::OK;
}

// None: volumes are made by hand, and every node reaches them.
grpc::Status IdentityService::GetPluginCapabilities(grpc::ServerContext*,
                                                    const ::csi::v1::GetPluginCapabilitiesRequest*,
                                                    ::csi::v1::GetPluginCapabilitiesResponse*) {
  return grpc::Status::OK;
}

grpc::Status IdentityService::Probe(grpc::ServerContext*, const ::csi::v1::ProbeRequest*,
                                    ::csi::v1::ProbeResponse* response) {
  if (const auto able = node_.check_node(); !able) return answer_with("Probe", "(none)", able);
  response->mutable_ready()->set_value(true);
  return grpc::Status::OK;
}

}  // namespace s3rdmafs::csi
