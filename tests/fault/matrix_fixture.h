// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "matrix_row.h"
#include "s3rdmafs/base/log.h"
#include "target/behaviour/behaviour.h"
#include "target/faults/fault.h"

namespace s3rdmafs::fault {

inline constexpr Mode kPrefer{RdmaMode::kPrefer, "prefer"};
inline constexpr std::array kModes =
    std::to_array<Mode>({{RdmaMode::kRequire, "require"}, kPrefer, {RdmaMode::kOff, "off"}});

// The client gives up well before a delayed server goes on; a loaded machine still answers in time.
inline constexpr std::chrono::milliseconds kImpatience{600};
inline constexpr const char* kLongDelay = ":1500ms";
// Longer than it takes a client to fence its memory and use it again.
inline constexpr const char* kLateness = ":30ms";

/// The client as a mount file for that server would have it.
inline RdmaOptions rdma_config(RdmaMode mode, const target::Behaviour& behaviour) {
  RdmaOptions rdma;
  rdma.mode = mode;
  rdma.token_header = behaviour.token_header;
  rdma.bytes_header = behaviour.bytes_header;
  if (!behaviour.has_bytes_on_get) rdma.byte_count = ByteCount::kOptional;
  return rdma;
}

inline bool is_copy(std::size_t column) { return column == kCopy || column == kPartCopy; }

inline bool is_error(const std::string& cell) { return cell.starts_with('E'); }

class MatrixTest : public testing::Test {
 protected:
  // The client's log about such servers would fill pages.
  MatrixTest() { spdlog::set_level(spdlog::level::off); }

  /// The rules for every row, whatever the server does.
  static void check(RdmaMode mode, const Ended& ended) {
    EXPECT_THAT(ended.problems, testing::IsEmpty());
    for (std::size_t column = 0; column < kColumns.size(); ++column) {
      SCOPED_TRACE(kColumns[column]);
      const std::string& cell = ended.cells.at(column);
      if (is_copy(column)) {
        EXPECT_TRUE(cell == "copied" || is_error(cell)) << cell;
        continue;
      }
      if (mode == RdmaMode::kOff && column != kPastTheEnd) {
        EXPECT_EQ(cell, "http");
      }
      if (mode == RdmaMode::kRequire && column != kPastTheEnd && column != kEmptyObject) {
        EXPECT_TRUE(cell == "rdma" || is_error(cell)) << cell;
      }
    }
  }

  static void expect_no_error(const Ended& ended, const char* why) {
    for (std::size_t column = 0; column < kColumns.size(); ++column) {
      if (column == kPastTheEnd || is_copy(column)) continue;  // copies have no token
      EXPECT_FALSE(is_error(ended.cells.at(column))) << kColumns[column] << ": " << why;
    }
  }

  /// A row with one fault, in the right measure for the test to see it.
  static Case fault_case(const target::FaultDescription& kind, const Mode& mode,
                         const std::string& when = "") {
    const bool is_delay = kind.name.starts_with("delay-");
    const bool is_late = kind.kind == target::FaultKind::kLateWrite ||
                         kind.kind == target::FaultKind::kDuplicateWrite;
    const std::string name(kind.name);
    const std::string argument = is_delay ? kLongDelay : (is_late ? kLateness : "");
    RdmaOptions rdma = rdma_config(mode.mode, target::behaviours().front());
    // Nothing else can tell.
    if (kind.kind == target::FaultKind::kCorrupt) rdma.verify = Verify::kAlways;
    return {.name = name + when,
            .mode = mode,
            .options = {"--fault", name + argument + when},
            .rdma = rdma,
            .patience = is_delay ? kImpatience : kPatience};
  }
};

}  // namespace s3rdmafs::fault
