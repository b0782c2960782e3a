// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "config/credentials/credentials.h"
#include "credentials/key_source.h"

namespace s3rdmafs::credentials {

/// As the object store takes them.
[[nodiscard]] s3::Credentials keys_of(const config::Credentials& found);

/// Keys in a profile of a credentials file: they have no end, and change when the file does.
class FileKeys final : public KeySource {
 public:
  explicit FileKeys(config::KeysInFile source);

  [[nodiscard]] Result<FetchedKeys> fetch(const std::stop_token& stop) override;
  [[nodiscard]] bool may_have_changed() override;

 private:
  /// Tells one state of the files from another.
  using Stamp = std::array<std::int64_t, 8>;
  [[nodiscard]] Stamp stamp() const;

  const config::KeysInFile source_;
  std::optional<Stamp> read_;  ///< of the files as they were read last; nothing: to be read
};

}  // namespace s3rdmafs::credentials
