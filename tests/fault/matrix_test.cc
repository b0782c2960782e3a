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

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "target/behaviour/behaviour.h"
#include "target/faults/fault.h"

namespace s3rdmafs::fault {
namespace {

using s3::RdmaMode;

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

// When a fault strikes that is to be survived: every third request.
constexpr const char* kNowAndThen = "@/3";

// Rows that run at the same time: each of them mostly waits for others.
constexpr std::size_t kRowsAtOnce = 8;

struct Mode {
  RdmaMode mode;
  const char* name;
};
constexpr Mode kPrefer{RdmaMode::kPrefer, "prefer"};
constexpr std::array kModes =
    std::to_array<Mode>({{RdmaMode::kRequire, "require"}, kPrefer, {RdmaMode::kOff, "off"}});

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

/// What a key may hold once a write of it has ended.
struct Written {
  std::string key, bytes;
  std::optional<std::string> before;
  bool is_good;
};

/// Empty, or what is wrong. A PUT that failed may have been stored all the same, whole: its answer
/// was lost.
std::string problem_with(const Written& written, const std::optional<std::string>& now) {
  if (now == written.bytes) return "";
  if (now == written.before && !written.is_good) return "";
  return fmt::format("{} holds {} after a PUT that {}", written.key,
                     now ? std::to_string(now->size()) + " bytes" : "nothing",
                     written.is_good ? "succeeded" : "failed");
}

/// What one row is made of.
struct Case {
  std::string name;
  Mode mode;
  std::vector<std::string> options;  ///< of s3rdma-target
  s3::RdmaOptions rdma;
  std::chrono::milliseconds patience = kPatience;
  Client::Fence fence = Client::Fence::kReal;
};

/// What came of it.
struct Ended {
  Cells cells;
  std::vector<std::string> problems;
  std::uint64_t faults_struck = 0;
};

/// One server and one mode, with every operation.
class Row {
 public:
  explicit Row(const Case& what)
      : target_(what.options), client_(target_, what.rdma, what.patience, what.fence) {}

  Ended run() {
    target_.put_object("small", small_);
    target_.put_object("large", large_);
    target_.put_object("overwritten", old_);
    ended_.cells = {get("small", small_, 0, small_.size()),
                    get("large", large_, 0, large_.size()),
                    get("large", large_, large_.size() - 100, 100),
                    get_past_the_end(),
                    put_empty(),
                    put("new", pattern(4, kSmallBytes), std::nullopt),
                    put_in_parts(),
                    put("overwritten", pattern(5, kOverwriteBytes), old_)};
    ended_.faults_struck = target_.counter("target_faults_total");
    // Late transfers are over when the server has ended.
    target_.stop();
    for (const Written& written : written_)
      note(problem_with(written, stored(target_, written.key)));
    note(client_.trespasses());
    return std::move(ended_);
  }

 private:
  void note(std::string problem) {
    if (!problem.empty()) ended_.problems.push_back(std::move(problem));
  }

  std::string get(const std::string& key, const std::string& content, std::size_t offset,
                  std::size_t length) {
    std::string bytes;
    const Outcome outcome = client_.get(key, offset, length, bytes);
    if (outcome.is_good() && bytes != content.substr(offset, length)) note("wrong bytes of " + key);
    return outcome.text();
  }

  std::string get_past_the_end() {
    std::string bytes;
    const Outcome outcome = client_.get("large", large_.size(), 100, bytes);
    if (outcome.is_good()) note("bytes came from where there are none");
    return outcome.text();
  }

  std::string put_empty() {
    const Outcome outcome = client_.put("empty", "");
    if (!outcome.is_good() || client_.size_of("empty") != 0U || stored(target_, "empty") != "") {
      note("an empty object cannot be made");
    }
    return outcome.text();
  }

  std::string put(const std::string& key, const std::string& bytes,
                  const std::optional<std::string>& before) {
    const Outcome outcome = client_.put(key, bytes);
    check({.key = key, .bytes = bytes, .before = before, .is_good = outcome.is_good()});
    return outcome.text();
  }

  std::string put_in_parts() {
    const std::string bytes = pattern(6, kPartBytes + 1'000'000);
    const Outcome outcome =
        client_.put_in_parts("parts", {bytes.substr(0, kPartBytes), bytes.substr(kPartBytes)});
    check({.key = "parts", .bytes = bytes, .before = {}, .is_good = outcome.is_good()});
    return outcome.text();
  }

  /// Now, and again at the end.
  void check(Written written) {
    note(problem_with(written, stored(target_, written.key)));
    written_.push_back(std::move(written));
  }

  const std::string small_ = pattern(1, kSmallBytes);
  const std::string large_ = pattern(2, kLargeBytes);
  const std::string old_ = pattern(3, kOverwriteBytes);
  TargetProcess target_;
  Client client_;
  std::vector<Written> written_;
  Ended ended_;
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

std::vector<Ended> run_all(const std::vector<Case>& cases) {
  std::vector<Ended> ended(cases.size());
  std::atomic<std::size_t> next{0};
  const auto run_some = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      SCOPED_TRACE(fmt::format("{}, {}", cases[i].name, cases[i].mode.name));
      ended[i] = Row(cases[i]).run();
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kRowsAtOnce; ++i) threads.emplace_back(run_some);
  threads.clear();
  return ended;
}

/// The client as a mount file for that server would have it.
s3::RdmaOptions rdma_config(RdmaMode mode, const target::Behaviour& behaviour) {
  s3::RdmaOptions rdma;
  rdma.mode = mode;
  rdma.token_header = behaviour.token_header;
  rdma.bytes_header = behaviour.bytes_header;
  if (!behaviour.has_bytes_on_get) rdma.byte_count = s3::ByteCount::kOptional;
  return rdma;
}

class MatrixTest : public testing::Test {
 protected:
  // What the client has to say about such servers fills pages.
  MatrixTest() { spdlog::set_level(spdlog::level::off); }

  /// What holds for each row, whatever the server does.
  static void check(RdmaMode mode, const Ended& ended) {
    EXPECT_THAT(ended.problems, testing::IsEmpty());
    for (std::size_t column = 0; column < kColumns.size(); ++column) {
      SCOPED_TRACE(kColumns[column]);
      const std::string& cell = ended.cells.at(column);
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
      if (column == kPastTheEnd) continue;
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
    s3::RdmaOptions rdma = rdma_config(mode.mode, target::behaviours().front());
    // Nothing else can tell.
    if (kind.kind == target::FaultKind::kCorrupt) rdma.verify = s3::Verify::kAlways;
    return {.name = name + when,
            .mode = mode,
            .options = {"--fault", name + argument + when},
            .rdma = rdma,
            .patience = is_delay ? kImpatience : kPatience};
  }
};

/// Which columns go by RDMA ("r") where the client may use it; for each behaviour, so that a row of
/// nothing but fallbacks is no success. NooBaa's small objects come in the body; versitygw takes no
/// parts, by which the client finds out whether a server reads by RDMA; of a large GET Ceph's OSDs
/// write a part only, after which the client takes no GET from it by RDMA.
constexpr std::array kByRdma = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"spec", "rrr  rrr"},
    {"aistor", "rrr  rrr"},
    {"noobaa", " r   rrr"},
    {"versitygw", "rrr  r r"},
    {"ecs", "rrr  rrr"},
    {"cloudian", "rrr  rrr"},
    {"scality", "rrr  rrr"},
    {"rocm-ernic", "rrr  rrr"},
    {"ceph-osd-direct", "r    rrr"},
    {"weak-etags", "rrr  rrr"},
    {"no-delimiter", "rrr  rrr"},
    {"repeated-tokens", "rrr  rrr"},
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
    const std::string& name = cases[i].name;
    const Mode& mode = cases[i].mode;
    SCOPED_TRACE(fmt::format("{}, {}", name, mode.name));
    table.add(name, mode.name, ended[i].cells);
    check(mode.mode, ended[i]);
    if (mode.mode == RdmaMode::kPrefer) expect_no_error(ended[i], "HTTP always works");
    const auto* by_rdma =
        std::ranges::find(kByRdma, name, &std::pair<std::string_view, std::string_view>::first);
    ASSERT_NE(by_rdma, kByRdma.end()) << "say what this server does by RDMA";
    for (std::size_t column = 0; column < kColumns.size(); ++column) {
      if (mode.mode == RdmaMode::kOff || by_rdma->second[column] != 'r') continue;
      EXPECT_EQ(ended[i].cells[column], "rdma") << kColumns[column];
    }
  }
}

TEST_F(MatrixTest, AServersOwnBytesHeaderThatIsNotConfiguredMeansHttpForGets) {
  std::vector<Case> cases;
  for (const Mode& mode : kModes) {
    s3::RdmaOptions rdma;
    rdma.mode = mode.mode;
    cases.push_back({.name = "rocm-ernic, unconfigured",
                     .mode = mode,
                     .options = {"--behave-as", "rocm-ernic"},
                     .rdma = rdma});
  }
  const std::vector<Ended> ended = run_all(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].mode.name);
    check(cases[i].mode.mode, ended[i]);
    if (cases[i].mode.mode != RdmaMode::kPrefer) continue;
    expect_no_error(ended[i], "HTTP always works");
    EXPECT_EQ(ended[i].cells[1], "http") << "no count, no success";
  }
}

TEST_F(MatrixTest, EveryFaultGivesRightBytesOrAClearError) {
  std::vector<Case> cases;
  for (const target::FaultDescription& kind : target::fault_descriptions()) {
    for (const Mode& mode : kModes) cases.push_back(fault_case(kind, mode));
    cases.push_back(fault_case(kind, kPrefer, kNowAndThen));
  }
  const std::vector<Ended> ended = run_all(cases);

  Table table("fault-matrix.md", "fault");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Mode& mode = cases[i].mode;
    SCOPED_TRACE(fmt::format("{}, {}", cases[i].name, mode.name));
    table.add(cases[i].name, mode.name, ended[i].cells);
    check(mode.mode, ended[i]);
    if (mode.mode == RdmaMode::kOff) {
      EXPECT_EQ(ended[i].faults_struck, 0U) << "no token, no fault";
    } else {
      EXPECT_GT(ended[i].faults_struck, 0U) << "the control: the fault was felt";
    }
    if (cases[i].name.ends_with(kNowAndThen)) {
      expect_no_error(ended[i], "the next attempt works");
    }
  }
}

// The controls: what the matrix would have to see, it sees.

TEST_F(MatrixTest, SeesLateWritesIntoMemoryThatIsInUseAgain) {
  const auto kinds = target::fault_descriptions();
  const auto late =
      std::ranges::find(kinds, target::FaultKind::kLateWrite, &target::FaultDescription::kind);
  Case without_fence = fault_case(*late, kPrefer);
  without_fence.fence = Client::Fence::kLies;
  EXPECT_THAT(Row(without_fence).run().problems, testing::Contains(testing::HasSubstr("memory")));
}

TEST_F(MatrixTest, SeesWrongBytesThatNobodyVerified) {
  const auto kinds = target::fault_descriptions();
  const auto corrupt =
      std::ranges::find(kinds, target::FaultKind::kCorrupt, &target::FaultDescription::kind);
  Case unverified = fault_case(*corrupt, kPrefer);
  unverified.rdma.verify = s3::Verify::kOff;
  EXPECT_THAT(Row(unverified).run().problems, testing::Contains(testing::HasSubstr("wrong bytes")));
}

TEST_F(MatrixTest, SeesAnObjectThatIsNeitherOldNorNew) {
  const Written good{.key = "k", .bytes = "new", .before = "old", .is_good = true};
  const Written failed{.key = "k", .bytes = "new", .before = "old", .is_good = false};
  EXPECT_EQ(problem_with(good, "new"), "");
  EXPECT_EQ(problem_with(failed, "old"), "");
  EXPECT_EQ(problem_with(failed, "new"), "") << "stored, but the answer was lost";
  EXPECT_NE(problem_with(good, "old"), "");
  for (const Written& written : {good, failed}) {
    EXPECT_NE(problem_with(written, ""), "") << "an empty object";
    EXPECT_NE(problem_with(written, std::nullopt), "") << "what was there is gone";
  }
}

}  // namespace
}  // namespace s3rdmafs::fault
