// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "credentials/key_source.h"

namespace s3rdmafs::credentials {

/// Keys that a program prints (credential_process of the AWS tools): one JSON object with
/// Version 1. /bin/sh runs it, with the rights of the daemon; what it writes to standard error goes
/// where the daemon's does.
class ProcessKeys final : public KeySource {
 public:
  /// A program may ask a service across the network, which may ask others.
  static constexpr std::chrono::seconds kTimeMax{60};

  explicit ProcessKeys(std::string command) : command_(std::move(command)) {}

  [[nodiscard]] Result<FetchedKeys> fetch(const std::stop_token& stop) override;

 private:
  const std::string command_;
};

}  // namespace s3rdmafs::credentials
