// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "config/credentials/credentials.h"
#include "credentials/key_source.h"
#include "net/connection_options.h"
#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::credentials {

/// A Security Token Service: Amazon's, or that of an S3 server.
struct Sts {
  std::string url;  ///< without a path
  std::string region;
  net::ConnectionOptions connection;
};

/// Keys of a role for a token that a cluster writes into a file and replaces:
/// AssumeRoleWithWebIdentity. Source: AWS Security Token Service API Reference.
class WebIdentityKeys final : public KeySource {
 public:
  WebIdentityKeys(config::KeysOfWebIdentity source, Sts sts)
      : source_(std::move(source)), sts_(std::move(sts)) {}
  [[nodiscard]] Result<FetchedKeys> fetch(const std::stop_token& stop) override;

 private:
  const config::KeysOfWebIdentity source_;
  const Sts sts_;
};

/// Keys of a role for other keys, which are fetched again each time: AssumeRole.
class RoleKeys final : public KeySource {
 public:
  /// Borrows the clock.
  /// @param signer  of the keys that sign
  RoleKeys(config::KeysOfRole role, std::unique_ptr<KeySource> signer, Sts sts, const Clock& clock)
      : role_(std::move(role)), signer_(std::move(signer)), sts_(std::move(sts)), clock_(clock) {}
  [[nodiscard]] Result<FetchedKeys> fetch(const std::stop_token& stop) override;
  [[nodiscard]] bool may_have_changed() override { return signer_->may_have_changed(); }

 private:
  const config::KeysOfRole role_;
  const std::unique_ptr<KeySource> signer_;
  const Sts sts_;
  const Clock& clock_;
};

}  // namespace s3rdmafs::credentials
