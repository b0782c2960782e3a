// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::s3 {

/// The keys that sign requests. Never logged.
struct Credentials {
  bool anonymous = false;  ///< requests go unsigned; the rest is empty
  std::string access_key_id = {};
  std::string secret_access_key = {};
  std::string session_token = {};  ///< empty: none

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// Where credentials come from. Every attempt asks, so that new ones count at once; get() must
/// answer from memory. Thread-safe.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  /// Errors: kNoCredentials, with what to do.
  [[nodiscard]] virtual Result<Credentials> get() = 0;
};

/// Credentials that never change: those of the mount file.
class StaticCredentials final : public CredentialSource {
 public:
  explicit StaticCredentials(Credentials credentials) : credentials_(std::move(credentials)) {}
  [[nodiscard]] Result<Credentials> get() override { return credentials_; }

 private:
  const Credentials credentials_;
};

}  // namespace s3rdmafs::s3
