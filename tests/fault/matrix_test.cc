// SPDX-License-Identifier: Apache-2.0
// The behaviour matrix: every server behaviour and every fault, with every operation of the client,
// in every rdma.mode, against a real s3rdma-target over shm.
//
// A cell is the way that the bytes went, or the errno. In every cell, bytes that are reported as
// read or stored are the right ones; an object that could not be stored is as it was before, and
// never an empty one; and nothing changes afterwards, though the server may try (see client.h).
// Both tables are printed and left in the build folder.
#include <algorithm>
#include <utility>

#include "matrix_fixture.h"
#include "matrix_table.h"

namespace s3rdmafs::fault {
namespace {

// When a fault strikes that is to be survived: every third request.
constexpr const char* kNowAndThen = "@/3";

/// Which columns go by RDMA ("r") where the client may use it; for each behaviour, so that a row of
/// nothing but fallbacks fails. NooBaa's small objects come in the body; versitygw takes no
/// parts, by which the client finds out whether a server reads by RDMA; of a large GET Ceph's OSDs
/// write a part only, after which the client takes no GET from it by RDMA.
constexpr std::array kByRdma = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"spec", "rrr  rrr  r"},
    {"aistor", "rrr  rrr  r"},
    {"noobaa", " r   rrr  r"},
    {"versitygw", "rrr  r r  r"},
    {"ecs", "rrr  rrr  r"},
    {"cloudian", "rrr  rrr  r"},
    {"scality", "rrr  rrr  r"},
    {"rocm-ernic", "rrr  rrr  r"},
    {"ceph-osd-direct", "r    rrr  r"},
    {"weak-etags", "rrr  rrr  r"},
    {"no-delimiter", "rrr  rrr  r"},
    {"repeated-tokens", "rrr  rrr  r"},
    {"no-if-match", "rrr  rrr  r"},
    {"put-conditions-only", "rrr  rrr  r"},
    {"no-conditions", "rrr  rrr  r"},
    {"refused-conditions", "rrr  rrr  r"},
    {"no-part-copy", "rrr  rrr  r"},
    {"rename-object", "rrr  rrr  r"},
    {"plain", "           "},
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
    EXPECT_EQ(ended[i].cells[kCopy], "copied");
    EXPECT_EQ(ended[i].cells[kPartCopy], name == "no-part-copy" ? "EIO" : "copied");
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
    RdmaOptions rdma;
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

}  // namespace
}  // namespace s3rdmafs::fault
