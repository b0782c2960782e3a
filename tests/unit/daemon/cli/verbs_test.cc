// SPDX-License-Identifier: Apache-2.0
// `config`, `stats`, `umount` and `warm`, each as a user runs it.
#include "daemon/cli/verbs.h"

#include <unistd.h>

#include <chrono>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "daemon/resident/control_socket.h"
#include "metrics/stats_socket.h"
#include "mount/private_mount_namespace.h"
#include "run_verb.h"

namespace s3rdmafs::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class VerbsTest : public VerbTest {
 protected:
  /// A daemon's control socket that gives this answer to every request.
  std::unique_ptr<ControlSocket> answer_requests(const std::string& mount_point,
                                                 const std::vector<std::string>& lines) {
    auto control = ControlSocket::listen(control_socket_path(mount_point),
                                         [this, lines](ControlRequest& request) {
                                           words_ = request.words();
                                           for (const std::string& line : lines) request.say(line);
                                         });
    EXPECT_TRUE(control) << control.error().detail;
    return std::move(*control);
  }

  std::vector<std::string> words_;  // of the last request; read once the control socket is gone
};

TEST_F(VerbsTest, ConfigPrintsSettingsAndTheirSourcesWithoutSecrets) {
  const Outcome printed = run_verb({"config", mount_file(), "-o", "cache.size=128MiB"});
  EXPECT_EQ(printed.status, kExitSuccess);
  EXPECT_THAT(printed.out, HasSubstr("size = \"128MiB\""));
  EXPECT_THAT(printed.out, HasSubstr("option -o cache.size"));
  EXPECT_THAT(printed.out, Not(HasSubstr("testsecretkey")));
  EXPECT_EQ(printed.err, "");
}

TEST_F(VerbsTest, ConfigReportsEveryMistakeOfAMountFile) {
  const Outcome refused =
      run_verb({"config", mount_file("[log]\nlevel = \"loud\"\nfil = \"x\"\n")});
  EXPECT_EQ(refused.status, kExitFailure);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("log.level"));
  EXPECT_THAT(refused.err, HasSubstr("log.fil"));
}

TEST_F(VerbsTest, StatsPrintsTheCountersOfTheMountsDaemon) {
  const std::string mount_point = directory();
  metrics::Registry metrics;
  metrics.counter("elephants_total", "Elephants seen").add(3);
  const auto socket =
      metrics::StatsSocket::listen(metrics, metrics::stats_socket_path(mount_point));
  ASSERT_TRUE(socket) << socket.error().detail;
  const Outcome printed = run_verb({"stats", mount_point});
  EXPECT_EQ(printed.status, kExitSuccess);
  EXPECT_THAT(printed.out, HasSubstr("elephants_total 3"));
}

TEST_F(VerbsTest, StatsPrintsThemAsJsonWithPercentiles) {
  const std::string mount_point = directory();
  metrics::Registry metrics;
  metrics.counter("elephants_total", "Elephants", R"(kind="pink")").add(3);
  metrics::Histogram& waits = metrics.histogram("wait_seconds", "Waits");
  for (int i = 0; i < 99; ++i) waits.record(std::chrono::milliseconds(30));
  waits.record(std::chrono::seconds(2));
  const auto socket =
      metrics::StatsSocket::listen(metrics, metrics::stats_socket_path(mount_point));
  ASSERT_TRUE(socket) << socket.error().detail;
  const Outcome printed = run_verb({"stats", mount_point, "--json"});
  EXPECT_EQ(printed.status, kExitSuccess);
  const auto json = nlohmann::json::parse(printed.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(json.is_object()) << printed.out;
  EXPECT_EQ(json["mount_point"], mount_point);
  EXPECT_EQ(json["daemon_pid"], ::getpid());
  EXPECT_EQ(json["values"][0]["name"], "s3rdmafs_elephants_total");
  EXPECT_EQ(json["values"][0]["labels"]["kind"], "pink");
  EXPECT_EQ(json["values"][0]["value"], 3);
  const auto& histogram = json["histograms"][0];
  EXPECT_EQ(histogram["count"], 100);
  EXPECT_NEAR(histogram["p50_s"].get<double>(), 0.030, 0.030 * 0.0625);
  EXPECT_NEAR(histogram["p99_s"].get<double>(), 0.030, 0.030 * 0.0625);
  EXPECT_EQ(histogram["max_s"], 2.097152);
  EXPECT_EQ(histogram["buckets"].back()["count"], 100);
}

TEST_F(VerbsTest, StatsAndWarmSayWhereNothingIsMounted) {
  const std::string mount_point = directory();
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"stats", mount_point}, {"warm", mount_point, "a"}}) {
    const Outcome refused = run_verb(arguments);
    EXPECT_EQ(refused.status, kExitFailure);
    EXPECT_THAT(refused.err,
                StartsWith("s3rdmafs: this user has no s3rdmafs mounted on " + mount_point + " ("));
  }
}

TEST_F(VerbsTest, AMountPointThatDoesNotExistIsNamed) {
  const std::string missing = folder_.path() / "missing";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"stats", missing}, {"warm", missing, "a"}}) {
    const Outcome refused = run_verb(arguments);
    EXPECT_EQ(refused.status, kExitFailure);
    EXPECT_THAT(refused.err, HasSubstr(missing + " does not exist"));
  }
}

TEST_F(VerbsTest, WarmSendsPathsInTheMountAndShowsTheResult) {
  const std::string mount_point = directory();
  auto control =
      answer_requests(mount_point, {"accepted", "found 1 1000", "fetched 1 1000", "were_there 0 0",
                                    "no_room 0 0 1", "failed 0", "end"});
  const Outcome warmed = run_verb({"warm", mount_point, mount_point + "/d/a", "*.bin"});
  EXPECT_EQ(warmed.status, kExitSuccess) << warmed.err;
  EXPECT_THAT(warmed.out, HasSubstr("1 object resident"));
  control.reset();
  EXPECT_EQ(words_, (std::vector<std::string>{"warm", "", "d/a", "*.bin"}));
}

TEST_F(VerbsTest, WarmReleasesObjects) {
  const std::string mount_point = directory();
  auto control = answer_requests(mount_point, {"accepted", "released 1 1000", "end"});
  EXPECT_EQ(run_verb({"warm", mount_point, "a", "--release"}).status, kExitSuccess);
  control.reset();
  EXPECT_EQ(words_, (std::vector<std::string>{"release", "a"}));
}

TEST_F(VerbsTest, WarmFailsWhereTheAnswerReportsAProblemOrIsCutShort) {
  const std::string mount_point = directory();
  {
    const auto control = answer_requests(mount_point, {"accepted", "problem a: is gone", "end"});
    const Outcome failed = run_verb({"warm", mount_point, "a"});
    EXPECT_EQ(failed.status, kExitFailure);
    EXPECT_THAT(failed.err, HasSubstr("a: is gone"));
  }
  const auto control = answer_requests(mount_point, {"accepted"});
  const Outcome cut_short = run_verb({"warm", mount_point, "a"});
  EXPECT_EQ(cut_short.status, kExitFailure);
  EXPECT_THAT(cut_short.err, HasSubstr("the mount ended"));
}

TEST_F(VerbsTest, WarmRefusesAPathOutsideTheMount) {
  const Outcome refused = run_verb({"warm", directory(), "/elsewhere"});
  EXPECT_EQ(refused.status, kExitFailure);
  EXPECT_THAT(refused.err, HasSubstr("/elsewhere is not below"));
}

TEST_F(VerbsTest, UmountFailsWhereNothingIsMounted) {
  const Outcome refused = run_verb({"umount", directory()});
  EXPECT_EQ(refused.status, kExitFailure);
  EXPECT_THAT(refused.err, HasSubstr(directory()));
}

TEST_F(VerbsTest, UmountDetachesAMountWhoseDaemonIsGoneAndRemovesItsSockets) {
  const std::string mount_point = directory();
  const std::string stale = metrics::stats_socket_path(mount_point);
  bool is_left = true;
  Outcome unmounted;
  const bool has_run = in_private_mount_namespace([&] {
    ASSERT_EQ(::mount("none", mount_point.c_str(), "tmpfs", 0, "size=64k"), 0);
    std::filesystem::create_directories(std::filesystem::path(stale).parent_path());
    std::ofstream(stale).put('x');
    unmounted = run_verb({"umount", mount_point});
    is_left = std::filesystem::exists(stale);
  });
  if (!has_run) GTEST_SKIP() << "not root";
  EXPECT_EQ(unmounted.status, kExitSuccess) << unmounted.err;
  EXPECT_FALSE(is_left);
}

TEST_F(VerbsTest, RunOfACommandThatIsNotThereFailsAsEnvDoes) {
  const Outcome refused = run_verb({"run", "--", directory() + "/none"});
  EXPECT_EQ(refused.status, 127);
  EXPECT_THAT(refused.err, HasSubstr("s3rdmafs: "));
}

TEST_F(VerbsTest, RunWithoutACommandIsAMistake) {
  const Outcome refused = run_verb({"run"});
  EXPECT_EQ(refused.status, kExitUsage);
  EXPECT_THAT(refused.err, HasSubstr("COMMAND"));
}

TEST_F(VerbsTest, UmountOfABusyMountAdvisesUnlessItIsLazy) {
  const std::string mount_point = directory();
  Outcome busy;
  Outcome lazy;
  const bool has_run = in_private_mount_namespace([&] {
    ASSERT_EQ(::mount("none", mount_point.c_str(), "tmpfs", 0, "size=64k"), 0);
    const std::ofstream user(mount_point + "/file");
    busy = run_verb({"umount", mount_point});
    lazy = run_verb({"umount", mount_point, "--lazy"});
  });
  if (!has_run) GTEST_SKIP() << "not root";
  EXPECT_EQ(busy.status, kExitFailure);
  EXPECT_THAT(busy.err, HasSubstr("--lazy"));
  EXPECT_EQ(lazy.status, kExitSuccess) << lazy.err;
}

}  // namespace
}  // namespace s3rdmafs::daemon
