// SPDX-License-Identifier: Apache-2.0
// Faults planted into a machine, a mount file, a network, a server and its transfers: doctor's
// first failing line names each.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor_site.h"

namespace s3rdmafs::daemon::doctor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Planted {
  std::string name;
  std::function<void(DoctorSite&)> plant;
  std::vector<std::string> words;  ///< of the first failing line
  std::string advice = {};         ///< a part of it
};

std::ostream& operator<<(std::ostream& stream, const Planted& planted) {
  return stream << planted.name;
}

Planted of_server(const std::string& name, ServerFault fault, std::vector<std::string> words,
                  std::string advice = {}) {
  return {.name = name,
          .plant = [fault](DoctorSite& site) { site.server.plant(fault); },
          .words = std::move(words),
          .advice = std::move(advice)};
}

Planted of_file(const std::string& name, const std::string& section, const std::string& key,
                const std::string& value, std::vector<std::string> words) {
  return {.name = name,
          .plant = [=](DoctorSite& site) { site.config[section][key] = value; },
          .words = std::move(words)};
}

bool is_failing(const Entry& entry) {
  return entry.finding.level == Level::kFail || entry.finding.level == Level::kDegraded;
}

// As run_checks(), but no further than the first failing line.
Report run_until_failing(const Checks& checks, Context& context) {
  Report report;
  for (const Check& check : checks) {
    report.push_back({.name = std::string(check.name), .finding = check.run(context)});
    if (is_failing(report.back())) break;
  }
  return report;
}

std::string name_of(const testing::TestParamInfo<Planted>& planted) { return planted.param.name; }

class PlantedFault : public testing::TestWithParam<Planted> {};

TEST_P(PlantedFault, IsNamedInTheFirstFailingLine) {
  DoctorSite site;
  GetParam().plant(site);
  const Report report = run_until_failing(quick_checks(), site.context());
  site.end();
  for (const std::string& word : GetParam().words) {
    EXPECT_THAT(first_failing_line(report), HasSubstr(word)) << to_text(report);
  }
  EXPECT_THAT(report.back().finding.advice, HasSubstr(GetParam().advice));
}

INSTANTIATE_TEST_SUITE_P(
    OfTheMachine, PlantedFault,
    testing::Values(Planted{"old_kernel",
                            [](DoctorSite& site) { site.machine.kernel = "4.19.0"; },
                            {"kernel:", "older than 5.4"}},
                    Planted{"no_fuse",
                            [](DoctorSite& site) { site.machine.has_fuse = false; },
                            {"FUSE device:", "/dev/fuse"}},
                    Planted{"no_huge_pages",
                            [](DoctorSite& site) { site.machine.has_huge_pages = false; },
                            {"huge pages:"}},
                    Planted{"ports_down",
                            [](DoctorSite& site) {
                              for (const char* device : {"mlx5_0", "mlx5_1"}) {
                                site.verbs.change_port(device, 1, [](fakes::FakePort& port) {
                                  port.state = IBV_PORT_DOWN;
                                });
                              }
                            },
                            {"RDMA devices:", "mlx5_0 port 1 is down"}},
                    Planted{"no_gids",
                            [](DoctorSite& site) {
                              for (const char* device : {"mlx5_0", "mlx5_1"}) {
                                site.verbs.change_port(
                                    device, 1, [](fakes::FakePort& port) { port.gids.clear(); });
                              }
                            },
                            {"RDMA devices:", "has no GID"}},
                    Planted{"little_locked_memory",
                            [](DoctorSite& site) {
                              site.machine.locked_memory_limit_bytes = 65536;
                              site.config["cache"]["lock"] = "\"require\"";
                            },
                            {"locked memory:", "64KiB"}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    OfTheMountFile, PlantedFault,
    testing::Values(
        of_file("wrong_key", "cache", "sise", "\"1GiB\"", {"mount file:", "cache.sise"}),
        of_file("wrong_value", "rdma", "mode", "\"maybe\"", {"mount file:", "rdma.mode"}),
        Planted{"no_disk_folder",
                [](DoctorSite& site) {
                  site.config["disk"]["path"] = "\"/no/such/folder/at/all\"";
                  site.config["disk"]["size"] = "\"1GiB\"";
                },
                {"disk cache:", "/no/such/folder/at"}},
        Planted{"no_credentials_file",
                [](DoctorSite& site) {
                  site.config["credentials"] = {{"file", "\"/no/such/credentials\""}};
                },
                {"credentials:", "/no/such/credentials"}},
        of_file("no_such_rail", "rdma", "rails", "\"mlx5_7\"", {"RDMA fabric:", "mlx5_7"})),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    OfTheNetwork, PlantedFault,
    testing::Values(of_file("nothing_listens", "endpoint", "url", "\"http://127.0.0.1:1\"",
                            {"TCP:", "refused"}),
                    of_server("no_http", ServerFault::kNoHttp, {"TLS and HTTP:"}),
                    of_server("clock_skew", ServerFault::kWrongClock, {"clock:", "clock skew"})),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    OfTheBucket, PlantedFault,
    testing::Values(
        of_server("wrong_secret", ServerFault::kDenied, {"credentials:", "SignatureDoesNotMatch"}),
        of_server("no_bucket", ServerFault::kNoBucket, {"bucket:", "data"}),
        of_server("no_delimiter", ServerFault::kNoDelimiter, {"listing:", "ignores the delimiter"}),
        of_server("weak_etags", ServerFault::kSameEtags, {"ETags:", "look weak"})),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    OfTransfers, PlantedFault,
    testing::Values(of_server("no_rdma", ServerFault::kNoRdma, {"RDMA rails:", "declined"}),
                    of_server("no_reply_header", ServerFault::kNoReplyHeader,
                              {"RDMA rails:", "no_reply_header"}, "rdma.reply_header"),
                    of_server("no_byte_count", ServerFault::kNoByteCount,
                              {"RDMA rails:", "no_byte_count"}, "rdma.bytes_header"),
                    of_server("rejects_tokens", ServerFault::kRejectsTokens,
                              {"RDMA rails:", "token_rejected"}, "rdma.token_form"),
                    of_server("wrong_bytes", ServerFault::kWrongBytes,
                              {"RDMA rails:", "WRONG BYTES", "byte 0"}),
                    of_server("bytes_after_the_window", ServerFault::kTooManyBytes,
                              {"WRONG BYTES", "after them"}),
                    of_server("late_bytes", ServerFault::kLateBytes,
                              {"RDMA rails:", "bytes after the reply"}, "rdma.verify = \"always\""),
                    of_server("no_rdma_write", ServerFault::kNoRdmaWrite, {"RDMA write:"}),
                    of_server("spoiled_writes", ServerFault::kSpoilsWrites,
                              {"RDMA write:", "WRONG BYTES"}),
                    Planted{"no_fence",
                            [](DoctorSite& site) { site.machine.has_fence = false; },
                            {"RDMA keys:", "an old token stays valid"}}),
    name_of);

// The control.
TEST(Doctor, FindsNothingWhereNothingIsPlanted) {
  DoctorSite site;
  const Report report = run_checks(quick_checks(), site.context());
  EXPECT_THAT(first_failing_line(report), IsEmpty()) << to_text(report);
  EXPECT_EQ(exit_status(report), kExitPass);
  site.end();
  EXPECT_THAT(site.server.keys(), IsEmpty()) << "the test objects are removed";
}

TEST(Doctor, NamesTheRailThatGoesNowhere) {
  DoctorSite site(port_with_address({192, 0, 2, 9}));
  const Report report = run_checks(quick_checks(), site.context());
  EXPECT_THAT(first_failing_line(report), HasSubstr("RDMA rails: rail mlx5_1: no connection from "
                                                    "192.0.2.9"));
  EXPECT_THAT(first_failing_line(report), HasSubstr("good: mlx5_0"));
}

TEST(Doctor, NamesARailThatCannotBeOpened) {
  DoctorSite site;
  site.config["rdma"]["mode"] = "\"prefer\"";
  site.verbs.change_port("mlx5_1", 1, [](fakes::FakePort& port) { port.state = IBV_PORT_DOWN; });
  const Report report = run_checks(quick_checks(), site.context());
  EXPECT_THAT(first_failing_line(report), HasSubstr("RDMA rails: rail mlx5_1:"));
  EXPECT_EQ(exit_status(report), kExitDegraded);
}

TEST(Doctor, TestsEveryRailByItselfWithTheReplyOverAnotherAddress) {
  DoctorSite site;
  Context& context = site.context();
  const Report report = run_checks(quick_checks(), context);
  const auto find = [&report](std::string_view name) {
    return std::ranges::find(report, name, &Entry::name)->finding;
  };
  EXPECT_THAT(find("RDMA rails").seen, HasSubstr("mlx5_0, mlx5_1"));
  EXPECT_EQ(find("reply over another NIC").level, Level::kPass);
  EXPECT_EQ(find("reply over another NIC").evidence["paths"].as_array()->size(), 2U);
  EXPECT_EQ(find("RDMA keys").evidence["paths"].as_array()->size(), 2U);
  EXPECT_THAT(find("late writes").seen, HasSubstr("not tested: needs s3rdma-target"));
}

TEST(Doctor, ReadsAnExistingObjectWhereItMayNotWrite) {
  DoctorSite site;
  site.config["write"]["mode"] = "\"off\"";
  site.server.store("object", std::string(300'000, 'x'));
  const Report report = run_checks(quick_checks(), site.context());
  EXPECT_THAT(first_failing_line(report), IsEmpty()) << to_text(report);
  EXPECT_THAT(site.server.keys(), testing::ElementsAre("object"));
}

TEST(Doctor, MeasuresEachRailBySizeAndByRequestsInFlight) {
  DoctorSite site;
  Checks checks = quick_checks();
  add_load_checks(checks);
  const Report report = run_checks(checks, site.context());
  const Finding& bandwidth = report.back().finding;
  EXPECT_EQ(bandwidth.level, Level::kNote);
  EXPECT_THAT(bandwidth.seen, HasSubstr("mlx5_0: "));
  EXPECT_THAT(bandwidth.seen, HasSubstr("mlx5_1: "));
  const toml::array* const measured = bandwidth.evidence["measured"].as_array();
  ASSERT_NE(measured, nullptr);
  ASSERT_GE(measured->size(), 2U);
  const toml::table* const first = measured->front().as_table();
  ASSERT_NE(first, nullptr);
  for (const char* name : {"path", "request_bytes", "in_flight", "bytes", "seconds",
                           "gigabytes_per_second", "cpu_seconds_per_gigabyte", "failures"}) {
    EXPECT_TRUE(first->contains(name)) << name;
  }
}

}  // namespace
}  // namespace s3rdmafs::daemon::doctor
