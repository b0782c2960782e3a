// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace s3rdmafs::s3 {

/// What an Error document says; empty where it says nothing.
struct S3Error {
  std::string code;
  std::string message;
};

/// Whether the server says that the bytes it got are not those we have the checksum of.
[[nodiscard]] inline bool is_checksum_mismatch(const S3Error& error) {
  return error.code == "BadDigest" || error.code == "XAmzContentChecksumMismatch" ||
         error.code == "ChecksumMismatch";
}

}  // namespace s3rdmafs::s3
