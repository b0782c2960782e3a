// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::rdma::mlx5 {

/// How servers reach a DC target: the part of a token that is the same for every window on a rail.
struct DcAddress {
  std::uint16_t lid = 0;               ///< of the port; 0 on RoCE, which has none
  std::uint32_t dct_number = 0;        ///< 24 bits; known once the target is ready to receive
  bool has_gid = false;                ///< always on RoCE; on InfiniBand by default
  std::array<std::uint8_t, 16> gid{};  ///< as it stands in the GID table: network order

  bool operator==(const DcAddress&) const = default;
};

/// How a token is written. Servers take one of these.
enum class DcTokenForm {
  k81,      ///< cuObject's 81 characters
  k115,     ///< followed by the window again in 16 digits each: AIStor before August 2026
  kBase64,  ///< the 81 characters in base64: Sirius
};

/// How a client describes one window to a server with DC initiators: the 81-character
/// token of cuObject (s3rdmafs-protocol(7)). Plain value.
///
///     addr:size:rkey:lid:dctn:gidflag:gid     16:8:8:4:6:1:32 hexadecimal digits, lower case
struct DcToken {
  std::uint64_t window_address = 0;  ///< where the transfer begins, in the client's address space
  std::uint32_t window_bytes = 0;
  std::uint32_t rkey = 0;
  DcAddress target;

  /// @param form  what the server takes
  [[nodiscard]] std::string to_text(DcTokenForm form) const;

  /// The reverse, as strict as the strictest server: exact widths, lower case, nothing after it.
  /// Errors: kInvalidArgument, with the first field that is wrong.
  [[nodiscard]] static Result<DcToken> parse(std::string_view text, DcTokenForm form);

  bool operator==(const DcToken&) const = default;
};

}  // namespace s3rdmafs::rdma::mlx5
