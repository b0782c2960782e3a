// SPDX-License-Identifier: Apache-2.0
// Each planted cause is named, and a fast mount has none. The numbers are those that the daemon
// tells (metrics/registry.h).
#include "daemon/explain/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../top/samples_of.h"

namespace s3rdmafs::daemon {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A mount that reads 1 GB/s by RDMA in requests of 1 MiB, from several files.
Numbers fast_mount() {
  return {{"fuse_read_bytes_total", 1'000'000'000},
          {R"(get_bytes_total{path="rdma"})", 1'000'000'000},
          {R"(get_bytes_total{path="http"})", 1'000'000},
          {R"(cache_reads_total{result="hit"})", 950},
          {R"(cache_reads_total{result="wait"})", 50},
          {R"(s3_requests_total{operation="get"})", 120},
          {R"(fuse_opens_total{mode="passthrough"})", 20},
          {R"(endpoint_alive{endpoint="http://a"})", 1},
          {R"(cache_slabs{state="free"})", 10},
          {"cache_size_bytes", 1'000'000'000},
          {"fuse_request_bytes_max", 4194304},
          {"staging_size_bytes", 1'000'000'000}};
}

ActivityReport two_readers() {
  return {
      .settings = {{"rdma.mode", "on"}, {"rdma.fabric", "dc"}, {"mount.transport", "/dev/fuse"}},
      .files =
          {{.handle = 1, .path = "a", .process = 5, .way = "direct", .read_bytes = 500'000'000},
           {.handle = 2, .path = "b", .process = 6, .way = "kernel"}},
      .processes = {{.id = 5, .name = "python3"}, {.id = 6, .name = "cp"}}};
}

/// After one second in which the numbers rose from nothing to these.
Look look_at(const Numbers& numbers, const ActivityReport& activity = two_readers()) {
  Look look = look_between(sample_at(0, {}), sample_at(1, numbers, activity));
  look.kernel_read_ahead_kib = 2048;
  return look;
}

std::vector<std::string> causes_of(const Look& look) {
  std::vector<std::string> names;
  for (const auto& cause : explain(look, "").causes) names.push_back(cause.name);
  return names;
}

std::vector<std::string> causes_with(const Numbers& planted) {
  Numbers numbers = fast_mount();
  for (const auto& [name, value] : planted) numbers[name] = value;
  return causes_of(look_at(numbers));
}

TEST(Explain, AFastMountHasNoCause) { EXPECT_THAT(causes_of(look_at(fast_mount())), IsEmpty()); }

TEST(Explain, AMountThatIsReadPastFuseHasNoCauseAndSaysSo) {
  Numbers numbers = fast_mount();
  for (const char* const name : {"fuse_read_bytes_total", R"(cache_reads_total{result="hit"})",
                                 R"(cache_reads_total{result="wait"})"}) {
    numbers[name] = 0;
  }
  numbers["attach_part_bytes_total"] = 1'000'000'000;
  ActivityReport activity = two_readers();
  activity.files.front().way = "memory";
  const Explanation told = explain(look_at(numbers, activity), "a");
  EXPECT_THAT(told.causes, IsEmpty());
  EXPECT_THAT(told.summary, HasSubstr("read 1.00 GB/s, from servers 1.00 GB/s"));
  EXPECT_THAT(told.file, Contains(HasSubstr("past FUSE")));
}

TEST(Explain, NamesTheReasonWhyBytesGoByHttp) {
  Numbers numbers = fast_mount();
  numbers["fuse_read_bytes_total"] = 2'000'000'000;
  numbers[R"(get_bytes_total{path="http"})"] = 1'000'000'000;
  numbers[R"(rdma_fallbacks_total{reason="fabric_down"})"] = 7;
  numbers[R"(rdma_fallbacks_total{reason="too_long"})"] = 2;
  const Explanation explanation = explain(look_at(numbers), "");
  ASSERT_EQ(explanation.causes.size(), 1U);
  EXPECT_EQ(explanation.causes[0].name, "by_http");
  EXPECT_EQ(explanation.causes[0].finding.evidence, "50 % of the bytes; 7 times \"fabric_down\"");
  EXPECT_THAT(explanation.causes[0].finding.advice, HasSubstr("doctor"));
}

TEST(Explain, TellsAMountWithoutRdmaByItsSettings) {
  Numbers numbers = fast_mount();
  numbers[R"(get_bytes_total{path="http"})"] = 1'000'000'000;
  ActivityReport activity = two_readers();
  activity.settings["rdma.mode"] = "off";
  EXPECT_THAT(explain(look_at(numbers, activity), "").causes.at(0).finding.evidence,
              HasSubstr("rdma.mode is off"));
  activity.settings["rdma.mode"] = "on";
  activity.settings["rdma.fabric"] = "none";
  EXPECT_THAT(explain(look_at(numbers, activity), "").causes.at(0).finding.evidence,
              HasSubstr("found no fabric"));
}

TEST(Explain, NamesAServerThatIsSilent) {
  EXPECT_THAT(causes_with({{R"(endpoint_alive{endpoint="http://b"})", 0}}),
              ElementsAre("server_is_silent"));
}

TEST(Explain, NamesRequestsThatFail) {
  Numbers numbers = fast_mount();
  numbers[R"(s3_attempts_failed_total{kind="Throttled"})"] = 12;
  const Explanation explanation = explain(look_at(numbers), "");
  ASSERT_EQ(explanation.causes.size(), 1U);
  EXPECT_EQ(explanation.causes[0].name, "requests_fail");
  EXPECT_THAT(explanation.causes[0].finding.advice, HasSubstr("http.connections_max"));
}

TEST(Explain, NamesKeysThatCannotBeRenewed) {
  EXPECT_THAT(causes_with({{"credentials_failures_total", 3}}), ElementsAre("keys_fail"));
}

TEST(Explain, NamesACacheThatIsTooSmall) {
  EXPECT_THAT(causes_with({{R"(cache_slabs{state="free"})", 0},
                           {"cache_reads_waiting", 4},
                           {"cache_evictions_total", 90}}),
              ElementsAre("waits_for_memory"));
}

TEST(Explain, NamesACacheWhoseBytesAreFetchedAgainAndAgain) {
  const Numbers fetched = {{R"(get_bytes_total{path="rdma"})", 14'000'000'000}};
  Numbers churns = fetched;
  churns["cache_evictions_total"] = 1700;
  EXPECT_THAT(causes_with(churns), Contains("waits_for_memory"));
  EXPECT_THAT(causes_with(fetched), Not(Contains("waits_for_memory"))) << "the control";
}

TEST(Explain, NamesScatteredReads) {
  EXPECT_THAT(causes_with({{R"(get_bytes_total{path="rdma"})", 14'000'000'000}}),
              ElementsAre("random_reads"));
}

TEST(Explain, NamesSmallReads) {
  EXPECT_THAT(causes_with({{R"(cache_reads_total{result="hit"})", 200'000}}),
              ElementsAre("small_reads"));
}

TEST(Explain, NamesASingleStreamThatWaits) {
  Numbers numbers = fast_mount();
  numbers[R"(cache_reads_total{result="wait"})"] = 600;
  EXPECT_THAT(causes_of(look_at(numbers)), IsEmpty()) << "of two readers";
  ActivityReport activity = two_readers();
  activity.files[0].read_bytes = 1'000'000'000;
  EXPECT_THAT(causes_of(look_at(numbers, activity)), ElementsAre("single_stream"));
}

TEST(Explain, NamesOpensThatAreNotPassedThrough) {
  Numbers numbers = fast_mount();
  numbers[R"(passthrough_declined_total{reason="no_room"})"] = 15;
  const Explanation explanation = explain(look_at(numbers), "");
  ASSERT_EQ(explanation.causes.size(), 1U);
  EXPECT_THAT(explanation.causes[0].finding.advice, HasSubstr("cache.size"));
}

TEST(Explain, NamesManyLookupsAndManyOpens) {
  EXPECT_THAT(causes_with({{R"(vfs_lookups_total{source="store"})", 900}}),
              ElementsAre("many_lookups"));
  EXPECT_THAT(causes_with({{R"(fuse_opens_total{mode="cached"})", 3000}}), Contains("many_opens"));
  ActivityReport activity = two_readers();
  activity.settings["mount.transport"] = "uring";
  Numbers numbers = fast_mount();
  numbers[R"(fuse_opens_total{mode="cached"})"] = 3000;
  EXPECT_THAT(causes_of(look_at(numbers, activity)), IsEmpty());
}

TEST(Explain, NamesSettingsOfTheKernel) {
  EXPECT_THAT(causes_with({{"fuse_request_bytes_max", 131072}}), ElementsAre("small_requests"));
  Look look = look_at(fast_mount());
  look.kernel_read_ahead_kib = 128;
  EXPECT_THAT(causes_of(look), ElementsAre("short_kernel_read_ahead"));
}

TEST(Explain, NamesADiskThatFailed) {
  EXPECT_THAT(causes_with({{"disk_size_bytes", 1'000'000'000'000}, {"disk_up", 0}}),
              ElementsAre("disk_is_down"));
  EXPECT_THAT(causes_with({{"disk_size_bytes", 1'000'000'000'000}, {"disk_up", 1}}), IsEmpty());
}

TEST(Explain, NamesWhatHoldsUpWrites) {
  EXPECT_THAT(causes_with({{"upload_writes_waiting", 3}}), ElementsAre("writes_wait"));
  EXPECT_THAT(causes_with({{"staging_used_bytes", 950'000'000}}), ElementsAre("staging_is_full"));
  EXPECT_THAT(causes_with({{"upload_abandoned", 1}}), ElementsAre("uploads_linger"));
}

TEST(Explain, AMountThatStandsStillIsJudgedSinceItWasMounted) {
  Numbers numbers = fast_mount();
  numbers[R"(get_bytes_total{path="http"})"] = 1'000'000'000;
  ActivityReport activity = two_readers();
  activity.age = std::chrono::seconds(10);
  const Look look = look_between(sample_at(0, numbers, activity), sample_at(5, numbers, activity));
  EXPECT_TRUE(look.is_since_mount);
  EXPECT_EQ(look.rates.kernel.read, 1e8);
  EXPECT_THAT(causes_of(look), Contains("by_http"));
  EXPECT_THAT(explain(look, "").summary, HasSubstr("since the mount"));
}

TEST(Explain, TellsHowAFileIsRead) {
  const Look look = look_at(fast_mount());
  EXPECT_THAT(explain(look, "a").file,
              ElementsAre(HasSubstr("a: open by python3 5; each read asks the daemon")));
  EXPECT_THAT(explain(look, "b").file, ElementsAre(HasSubstr("the kernel reads it by itself")));
  EXPECT_THAT(explain(look, "c").file, ElementsAre(HasSubstr("no program has it open")));
}

TEST(Explain, PrintsForPeopleAndForPrograms) {
  Numbers numbers = fast_mount();
  EXPECT_THAT(to_text(explain(look_at(numbers), "")), HasSubstr("nothing was found"));
  numbers["credentials_failures_total"] = 2;
  const Explanation explanation = explain(look_at(numbers), "");
  EXPECT_THAT(to_text(explanation), HasSubstr("\n1. new keys cannot be had\n   2 tries failed"));
  const auto json = nlohmann::json::parse(to_json(explanation));
  EXPECT_EQ(json.at("causes").at(0).at("name"), "keys_fail");
  EXPECT_EQ(json.at("summary"), explanation.summary);
}

}  // namespace
}  // namespace s3rdmafs::daemon
