// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace s3rdmafs::csi {

/// Attributes or secrets, as Kubernetes hands them over.
using Texts = std::map<std::string, std::string>;

/// How a volume may be used, by the numbers of csi.proto.
enum class AccessMode {
  kUnknown = 0,
  kSingleNodeWriter = 1,
  kSingleNodeReaderOnly = 2,
  kMultiNodeReaderOnly = 3,
  kMultiNodeSingleWriter = 4,
  kMultiNodeMultiWriter = 5,
  kSingleNodeSingleWriter = 6,
  kSingleNodeMultiWriter = 7,
};

/// How a caller wants to use a volume: csi.proto's VolumeCapability. Plain value, not checked.
struct Capability {
  bool is_mount = false;  ///< as a file system; else as a block device, or not said
  std::string fs_type = {};
  std::vector<std::string> mount_flags = {};
  std::string mount_group = {};  ///< a group id in decimal: fsGroup of the pod; empty: none
  AccessMode mode = AccessMode::kUnknown;
};

/// A request to stage or publish a volume. Plain value, not checked.
struct VolumeUse {
  std::string volume;
  std::string staging_path = {};
  std::string target_path = {};  ///< empty: to be staged alone
  Capability capability = {};
  bool read_only = false;
  Texts secrets = {};
  Texts context = {};  ///< attributes of the volume, and of the pod
};

}  // namespace s3rdmafs::csi
