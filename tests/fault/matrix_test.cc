// SPDX-License-Identifier: Apache-2.0
// The behaviour matrix: every server behaviour and every fault, with every operation of the client,
// in every rdma.mode, against a real s3rdma-target over shm.
//
// A cell says by which way the bytes went, or the errno. Whatever it says: bytes that are reported
// as read or stored are the right ones; an object that could not be stored is as it was before, and
// never an empty one; and nothing changes afterwards, though the server may try (see client.h).
// Both tables are printed and left in the build folder.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "client.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "target/behaviour/behaviour.h"
#include "target/faults/fault.h"

namespace s3rdmafs::fault {
namespace {

using config::RdmaMode;

constexpr std::array kColumns =
    std::to_array<const char*>({"GET small", "GET large", "GET at the end", "GET past the end",
                                "empty object", "PUT small", "PUT in parts", "overwrite"});
constexpr std::size_t kPastTheEnd = 3;   // fails always: there is nothing
constexpr std::size_t kEmptyObject = 4;  // has no bytes to move
using Cells = std::array<std::string, kColumns.size()>;

// Small enough for NooBaa to send it in the body; large enough for several blocks and parts.
constexpr std::size_t kSmallBytes = 2'000;
constexpr std::size_t kLargeBytes = 5 * kMiB + 12'345;
constexpr std::size_t kPartBytes = 5 * kMiB;  // S3's least, for all but the last
constexpr std::size_t kOverwriteBytes = 300'000;

// Only a server that hangs would take so long.
constexpr std::chrono::milliseconds kPatience{20'000};
// The client gives up well before a delayed server goes on; a loaded machine still answers in time.
constexpr std::chrono::milliseconds kImpatience{600};
constexpr const char* kLongDelay = ":1500ms";
// Longer than it takes a client to fence its memory and use it again.
constexpr const char* kLateness = ":30ms";

// Rows that run at the same time: each of them mostly waits for others.
constexpr std::size_t kRowsAtOnce = 8;

struct Mode {
  RdmaMode mode;
  const char* name;
};
constexpr std::array kModes = std::to_array<Mode>(
    {{RdmaMode::kRequire, "require"}, {RdmaMode::kPrefer, "prefer"}, {RdmaMode::kOff, "off"}});

/// Bytes in which every eight tell object and place.
std::string pattern(std::uint64_t seed, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at + 8 <= size; at += 8) {
    const std::uint64_t word = (seed * 1'000'003 + at) * 0x9E3779B97F4A7C15;
    std::memcpy(&bytes[at], &word, sizeof(word));
  }
  return bytes;
}

/// Nothing where there is no such object.
std::optional<std::string> stored(const TargetProcess& target, const std::string& key) {
  std::ifstream file(target.object(key), std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// One server and one mode, with every operation.
class Row {
 public:
  Row(const std::vector<std::string>& options, const config::MountConfig::Rdma& rdma,
      std::chrono::milliseconds patience)
      : target_(options), client_(target_, rdma, patience) {}

  Cells run() {
    target_.put_object("small", small_);
    target_.put_object("large", large_);
    target_.put_object("overwritten", old_);
    Cells cells = {get("small", small_, 0, small_.size()),
                   get("large", large_, 0, large_.size()),
                   get("large", large_, large_.size() - 100, 100),
                   get_past_the_end(),
                   put_empty(),
                   put("new", pattern(4, kSmallBytes), std::nullopt),
                   put_in_parts(),
                   put("overwritten", pattern(5, kOverwriteBytes), old_)};
    faults_struck_ = target_.counter("target_faults_total");
    finish();
    return cells;
  }

  [[nodiscard]] std::uint64_t faults_struck() const { return faults_struck_; }

 private:
  /// What a key may hold once all is over.
  struct Written {
    std::string key, bytes;
    std::optional<std::string> before;
    bool is_good;
  };

  std::string get(const std::string& key, const std::string& content, std::size_t offset,
                  std::size_t length) {
    std::string bytes;
    const Outcome outcome = client_.get(key, offset, length, bytes);
    if (outcome.is_good()) {
      EXPECT_TRUE(bytes == content.substr(offset, length)) << "wrong bytes of " << key;
    }
    return outcome.text();
  }

  std::string get_past_the_end() {
    std::string bytes;
    const Outcome outcome = client_.get("large", large_.size(), 100, bytes);
    EXPECT_FALSE(outcome.is_good()) << "there is nothing to read";
    return outcome.text();
  }

  std::string put_empty() {
    const Outcome outcome = client_.put("empty", "");
    EXPECT_TRUE(outcome.is_good()) << outcome.error->detail;
    EXPECT_EQ(client_.size_of("empty"), 0U);
    EXPECT_EQ(stored(target_, "empty"), "");
    return outcome.text();
  }

  std::string put(const std::string& key, std::string bytes, std::optional<std::string> before) {
    const Outcome outcome = client_.put(key, bytes);
    return check_stored({.key = key,
                         .bytes = std::move(bytes),
                         .before = std::move(before),
                         .is_good = outcome.is_good()},
                        outcome);
  }

  std::string put_in_parts() {
    const std::string bytes = pattern(6, kPartBytes + 1'000'000);
    const Outcome outcome =
        client_.put_in_parts("parts", {bytes.substr(0, kPartBytes), bytes.substr(kPartBytes)});
    return check_stored(
        {.key = "parts", .bytes = bytes, .before = std::nullopt, .is_good = outcome.is_good()},
        outcome);
  }

  std::string check_stored(Written written, const Outcome& outcome) {
    check(written);
    written_.push_back(std::move(written));
    return outcome.text();
  }

  // A PUT that failed may have been stored all the same, whole: its answer was lost.
  void check(const Written& written) {
    const auto now = stored(target_, written.key);
    const bool is_new = now == written.bytes;
    const bool is_old = now == written.before;
    EXPECT_TRUE(is_new || (is_old && !written.is_good))
        << written.key << " holds " << (now ? std::to_string(now->size()) + " bytes" : "nothing")
        << " after a PUT that " << (written.is_good ? "succeeded" : "failed");
  }

  // Late transfers are over when the server has ended.
  void finish() {
    target_.stop();
    for (const Written& written : written_) check(written);
    EXPECT_EQ(client_.trespasses(), "");
  }

  const std::string small_ = pattern(1, kSmallBytes);
  const std::string large_ = pattern(2, kLargeBytes);
  const std::string old_ = pattern(3, kOverwriteBytes);
  TargetProcess target_;
  Client client_;
  std::vector<Written> written_;
  std::uint64_t faults_struck_ = 0;
};

/// A table in Markdown that grows row by row; printed, and put into the build folder, at the end.
class Table {
 public:
  Table(std::string file_name, const std::string& first_column) : file_name_(std::move(file_name)) {
    text_ = "| " + first_column + " | rdma.mode |";
    std::string rule = "\n|---|---|";
    for (const char* column : kColumns) {
      text_ += fmt::format(" {} |", column);
      rule += "---|";
    }
    text_ += rule + "\n";
  }
  ~Table() {
    std::cout << text_;
    std::ofstream(std::string(BUILD_FOLDER "/") + file_name_) << text_;
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void add(std::string_view server, std::string_view mode, const Cells& cells) {
    text_ += fmt::format("| {} | {} |", server, mode);
    for (const std::string& cell : cells) text_ += fmt::format(" {} |", cell);
    text_ += "\n";
  }

 private:
  const std::string file_name_;
  std::string text_;
};

bool is_error(const std::string& cell) { return cell.starts_with('E'); }

/// What one row is made of.
struct Case {
  std::string name;
  Mode mode;
  std::vector<std::string> options;
  config::MountConfig::Rdma rdma;
  std::chrono::milliseconds patience = kPatience;
};

/// What came of it.
struct Ended {
  Cells cells;
  std::uint64_t faults_struck = 0;
};

std::vector<Ended> run_all(const std::vector<Case>& cases) {
  std::vector<Ended> ended(cases.size());
  std::atomic<std::size_t> next{0};
  const auto run_some = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      SCOPED_TRACE(fmt::format("{}, {}", cases[i].name, cases[i].mode.name));
      Row row(cases[i].options, cases[i].rdma, cases[i].patience);
      ended[i].cells = row.run();
      ended[i].faults_struck = row.faults_struck();
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kRowsAtOnce; ++i) threads.emplace_back(run_some);
  threads.clear();
  return ended;
}

/// The client as a mount file for that server would have it.
config::MountConfig::Rdma rdma_config(RdmaMode mode, const target::Behaviour& /*behaviour*/) {
  config::MountConfig::Rdma rdma;
  rdma.mode = mode;
  return rdma;
}

class MatrixTest : public testing::Test {
 protected:
  // What the client has to say about such servers fills pages.
  MatrixTest() { spdlog::set_level(spdlog::level::off); }

  /// What holds for each row, whatever the server does.
  static void check_mode(RdmaMode mode, const Cells& cells) {
    for (std::size_t column = 0; column < cells.size(); ++column) {
      SCOPED_TRACE(kColumns[column]);
      const std::string& cell = cells.at(column);
      const bool has_bytes = column != kPastTheEnd && column != kEmptyObject;
      if (mode == RdmaMode::kOff && column != kPastTheEnd) {
        EXPECT_EQ(cell, "http");
      }
      if (mode == RdmaMode::kRequire && has_bytes) {
        EXPECT_TRUE(cell == "rdma" || is_error(cell)) << cell;
      }
    }
  }
};

/// Which columns go by RDMA ("r") where the client may use it; for each behaviour, so that a row of
/// nothing but fallbacks is no success. NooBaa's first answer, of a small object, comes in the body,
/// and the client then takes it for a server without RDMA for a while; versitygw takes no parts, by
/// which the client finds out whether a server reads by RDMA.
constexpr std::array kByRdma = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"spec", "rrr  rrr"},
    {"aistor", "rrr  rrr"},
    {"noobaa", "     rrr"},
    {"versitygw", "rrr     "},
    {"ecs", "rrr  rrr"},
    {"cloudian", "rrr  rrr"},
    {"scality", "rrr  rrr"},
    {"plain", "        "},
});

TEST_F(MatrixTest, EveryBehaviourGivesRightBytesOrAClearError) {
  std::vector<Case> cases;
  for (const target::Behaviour& behaviour : target::behaviours()) {
    const std::string name(behaviour.name);
    for (const Mode& mode : kModes) {
      cases.push_back({.name = name,
                       .mode = mode,
                       .options = {"--behave-as", name},
                       .rdma = rdma_config(mode.mode, behaviour)});
    }
  }
  const std::vector<Ended> ended = run_all(cases);

  Table table("behaviour-matrix.md", "server");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& [name, mode, options, rdma, patience] = cases[i];
    const Cells& cells = ended[i].cells;
    SCOPED_TRACE(fmt::format("{}, {}", name, mode.name));
    table.add(name, mode.name, cells);
    check_mode(mode.mode, cells);
    const auto* by_rdma =
        std::ranges::find(kByRdma, name, &std::pair<std::string_view, std::string_view>::first);
    ASSERT_NE(by_rdma, kByRdma.end()) << "say what this server does by RDMA";
    for (std::size_t column = 0; column < cells.size(); ++column) {
      SCOPED_TRACE(kColumns[column]);
      if (mode.mode != RdmaMode::kOff && by_rdma->second[column] == 'r') {
        EXPECT_EQ(cells[column], "rdma");
      }
      if (mode.mode == RdmaMode::kPrefer && column != kPastTheEnd) {
        EXPECT_FALSE(is_error(cells[column])) << "HTTP always works";
      }
    }
  }
}

TEST_F(MatrixTest, EveryFaultGivesRightBytesOrAClearError) {
  using target::FaultKind;
  std::vector<Case> cases;
  for (const target::FaultDescription& kind : target::fault_descriptions()) {
    const bool is_delay = kind.name.starts_with("delay-");
    const bool is_late =
        kind.kind == FaultKind::kLateWrite || kind.kind == FaultKind::kDuplicateWrite;
    const std::string name(kind.name);
    const std::string argument = is_delay ? kLongDelay : (is_late ? kLateness : "");
    for (const Mode& mode : kModes) {
      cases.push_back({.name = name,
                       .mode = mode,
                       .options = {"--fault", name + argument},
                       .rdma = rdma_config(mode.mode, target::behaviours().front()),
                       .patience = is_delay ? kImpatience : kPatience});
    }
  }
  const std::vector<Ended> ended = run_all(cases);

  Table table("fault-matrix.md", "fault");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& [name, mode, options, rdma, patience] = cases[i];
    SCOPED_TRACE(fmt::format("{}, {}", name, mode.name));
    table.add(name, mode.name, ended[i].cells);
    check_mode(mode.mode, ended[i].cells);
    if (mode.mode == RdmaMode::kOff) {
      EXPECT_EQ(ended[i].faults_struck, 0U) << "no token, no fault";
    } else {
      EXPECT_GT(ended[i].faults_struck, 0U) << "the control: the fault was felt";
    }
  }
}

}  // namespace
}  // namespace s3rdmafs::fault
