// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "target/behaviour/behaviour.h"

namespace s3rdmafs::target {

/// The maker of a token.
enum class TokenKind {
  kOwn,        ///< of a fabric that this target has or may have: "shm:...", "rc:..."
  kCuObject,   ///< of a ConnectX: two or more hexadecimal fields. Cannot be served here
  kHipObject,  ///< 88 hexadecimal digits (s3rdmafs-protocol(7)). Cannot be served here
  kUnknown,
};

/// In the order in which elbencho's test server tells them apart.
[[nodiscard]] TokenKind token_kind(std::string_view token);

/// The error that a server which demands `form` finds; empty: none. Not for tokens of kind kOwn.
[[nodiscard]] std::string token_fault(TokenForm form, std::string_view token);

}  // namespace s3rdmafs::target
