// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/credentials/credentials.h"
#include "credentials/key_source.h"
#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::credentials {

/// Keys of a role that IAM Identity Center gives for a person's sign-in. The token of the sign-in
/// is read from the AWS tools' cache each time, since a person signs in again while the mount runs.
/// Source: AWS SDKs and Tools Reference Guide, "IAM Identity Center credential provider"; AWS SSO
/// Portal API, GetRoleCredentials.
class SsoKeys final : public KeySource {
 public:
  /// Borrows the clock.
  SsoKeys(config::KeysOfSso source, const Clock& clock)
      : source_(std::move(source)), clock_(clock) {}
  /// Errors: also kNoCredentials, where there is no sign-in, or it has ended.
  [[nodiscard]] Result<FetchedKeys> fetch(const std::stop_token& stop) override;

 private:
  [[nodiscard]] Result<std::string> read_token() const;
  [[nodiscard]] std::unexpected<Error> sign_in(std::string_view why) const;

  const config::KeysOfSso source_;
  const Clock& clock_;
};

}  // namespace s3rdmafs::credentials
