// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/credentials/credentials.h"
#include "credentials/key_source.h"

namespace s3rdmafs::credentials {

/// Keys from the endpoint that a container is told of. The file with its token is read each time,
/// since the token is replaced.
/// Source: AWS SDKs and Tools Reference Guide, "Container credential provider".
class ContainerKeys final : public KeySource {
 public:
  explicit ContainerKeys(config::KeysOfContainer source) : source_(std::move(source)) {}
  [[nodiscard]] Result<FetchedKeys> fetch(const std::stop_token& stop) override;

 private:
  const config::KeysOfContainer source_;
};

/// Keys of the role that a cloud instance has, by version 2 of the metadata service alone: a token
/// of a PUT comes first, which a server that is tricked into a GET cannot get.
/// Source: Amazon EC2 User Guide, "Use the Instance Metadata Service".
class InstanceKeys final : public KeySource {
 public:
  explicit InstanceKeys(config::KeysOfInstance source) : source_(std::move(source)) {}
  [[nodiscard]] Result<FetchedKeys> fetch(const std::stop_token& stop) override;

 private:
  const config::KeysOfInstance source_;
};

}  // namespace s3rdmafs::credentials
