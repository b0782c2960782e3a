// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client.h"
#include "s3/store_options.h"

namespace s3rdmafs::fault {

using s3::ByteCount;
using s3::RdmaMode;
using s3::Verify;
using RdmaOptions = s3::RdmaOptions;

/// The operations that each server is asked for: the columns of the matrix.
inline constexpr std::array kColumns = std::to_array<const char*>(
    {"GET small", "GET large", "GET at the end", "GET past the end", "empty object", "PUT small",
     "PUT in parts", "overwrite", "copy", "part copy", "PUT over a version"});
inline constexpr std::size_t kPastTheEnd = 3;   // fails always: there is nothing
inline constexpr std::size_t kEmptyObject = 4;  // has no bytes to move
inline constexpr std::size_t kCopy = 8;         // the server moves the bytes
inline constexpr std::size_t kPartCopy = 9;     // likewise
using Cells = std::array<std::string, kColumns.size()>;

// Only a server that hangs would take so long.
inline constexpr std::chrono::milliseconds kPatience{20'000};

struct Mode {
  RdmaMode mode;
  const char* name;
};

/// The settings of one row.
struct Case {
  std::string name;
  Mode mode;
  std::vector<std::string> options;  ///< of s3rdma-target
  RdmaOptions rdma;
  std::chrono::milliseconds patience = kPatience;
  Client::Fence fence = Client::Fence::kReal;
};

/// The result of a row.
struct Ended {
  Cells cells;
  std::vector<std::string> problems;
  std::uint64_t faults_struck = 0;
};

/// Runs every operation of every case against a server of its own, several cases at a time.
[[nodiscard]] std::vector<Ended> run_all(const std::vector<Case>& cases);
[[nodiscard]] Ended run_one(const Case& what);

/// The values that a key may hold once a write of it has ended.
struct Written {
  std::string key, bytes;
  std::optional<std::string> before;
  bool is_good;
};

/// The error in the key's value, or empty. A failed PUT may still have stored the whole object:
/// then its answer was lost.
[[nodiscard]] std::string problem_with(const Written& written,
                                       const std::optional<std::string>& now);

}  // namespace s3rdmafs::fault
