// SPDX-License-Identifier: Apache-2.0
// The file that users send with a question: complete, valid, without secrets, and readable by its
// owner alone.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/doctor/report/full_report.h"
#include "daemon/doctor/report/json.h"
#include "daemon/doctor/report/machine_facts.h"
#include "daemon/doctor/report/report_file.h"
#include "fakes/temporary_folder.h"

namespace s3rdmafs::daemon::doctor {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void make_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text << '\n';
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(DoctorJson, EscapesInvalidCharactersOfJson) {
  const std::string text =
      json_text(toml::table{{"a", "quote\" backslash\\ escape\x1b delete\x7f line\n tab\t"}});
  EXPECT_EQ(text,
            "{\n    \"a\" : \"quote\\\" backslash\\\\ escape\\u001B delete\\u007F line\\n "
            "tab\\t\"\n}\n");
}

TEST(DoctorJson, TakesOnlyCharactersOfUtf8) {
  EXPECT_EQ(valid_utf8("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80");
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(valid_utf8("a\xFF"
                       "b"),
            "a" + replaced + "b");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), replaced + replaced) << "too long a form";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), replaced + replaced + replaced) << "half a pair";
  EXPECT_EQ(valid_utf8("\xE2\x82"), replaced + replaced) << "cut off";
  EXPECT_EQ(valid_utf8(""), "");
}

TEST(DoctorReportFile, IsForItsOwnerAlone) {
  const fakes::TemporaryFolder folder;
  const fs::path path = folder.path() / "report.json";
  auto file = ReportFile::create(path);
  ASSERT_TRUE(file);
  EXPECT_FALSE(fs::exists(path)) << "a report is written whole or not at all";
  ASSERT_TRUE(file->commit("whole"));
  EXPECT_EQ(text_of(path), "whole");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(DoctorReportFile, TakesThePlaceOfAnOlderOneWhenItIsWhole) {
  const fakes::TemporaryFolder folder;
  const fs::path path = folder.path() / "report.json";
  make_file(path, "older");
  {
    const auto abandoned = ReportFile::create(path);
    ASSERT_TRUE(abandoned);
  }
  EXPECT_EQ(text_of(path), "older\n");
  EXPECT_EQ(files_in(folder.path()), 1U);
  ASSERT_TRUE(ReportFile::create(path)->commit("newer"));
  EXPECT_EQ(text_of(path), "newer");
}

TEST(DoctorReportFile, FollowsNoLinkAndReplacesNothingButFiles) {
  const fakes::TemporaryFolder folder;
  const fs::path other = folder.path() / "other";
  make_file(other, "untouched");
  const fs::path link = folder.path() / "link";
  fs::create_symlink(other, link);
  const auto refused = ReportFile::create(link);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr(link.string()));
  EXPECT_FALSE(ReportFile::create(folder.path()));
  EXPECT_FALSE(ReportFile::create("/dev/null"));

  // A link that comes while the checks run.
  const fs::path path = folder.path() / "report.json";
  auto file = ReportFile::create(path);
  ASSERT_TRUE(file);
  fs::create_symlink(other, path);
  EXPECT_FALSE(file->commit("whole"));
  EXPECT_EQ(text_of(other), "untouched\n");
}

TEST(DoctorReportFile, SaysWhereItCannotBeWritten) {
  const auto refused = ReportFile::create("/no/such/folder/report.json");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().detail, HasSubstr("/no/such/folder/report.json"));
}

TEST(DoctorReport, HasEveryCheckWithItsEvidence) {
  Context context;
  Finding finding{Level::kFail, "seen", "advice"};
  finding.evidence = toml::table{{"answer", 42}};
  const std::string text =
      full_report({{.name = "one", .finding = finding, .seconds = 1.5}}, context, "1.2.3");
  for (const char* part :
       {"\"verdict\" : \"fail\"", "\"name\" : \"one\"", "\"answer\" : 42", "\"seconds\" : 1.5",
        "\"kernel\"", "\"s3rdmafs\" : \"1.2.3\"", "\"libfuse\"", "\"locked_memory_limit\"",
        "\"devices\"", "\"settings\""}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(DoctorReport, HasNoSecretWhereverItStands) {
  Context context;
  auto loaded = config::load_mount_config_text(
      "[bucket]\nname = \"data\"\n[endpoint]\nurl = \"http://127.0.0.1:9000\"\n[credentials]\n"
      "access_key_id = \"MYACCESSKEY\"\nsecret_access_key = \"my-secret-key\"\n"
      "session_token = \"my-session\"\n[rdma]\ndc_key = \"0xabcdef0123\"\n",
      "a.toml", context.environment);
  ASSERT_TRUE(loaded) << loaded.error().detail;
  context.loaded = std::move(*loaded);
  Finding finding{Level::kFail, "a server that says my-secret-key and my-session", "MYACCESSKEY"};
  finding.evidence = toml::table{{"deep", toml::array{toml::table{{"key", "xmy-secret-keyx"}}}},
                                 {"dc", "abcdef0123"}};
  const std::string text = full_report({{.name = "one", .finding = finding}}, context, "1");
  for (const char* secret : {"my-secret-key", "my-session", "MYACCESSKEY", "abcdef0123"}) {
    EXPECT_THAT(text, Not(HasSubstr(secret)));
  }
  EXPECT_THAT(text, HasSubstr("x********x"));
  EXPECT_THAT(text, HasSubstr("name = \\\"data\\\"")) << "the control: other settings are there";
}

TEST(DoctorReport, HasTheFactsThatADevicesVendorAsksFor) {
  const fakes::TemporaryFolder sys;
  const fs::path device = sys.path() / "class/infiniband/mlx5_0";
  make_file(device / "fw_ver", "28.43.1014");
  make_file(device / "device/numa_node", "1");
  make_file(device / "device/current_link_speed", "32.0 GT/s PCIe");
  make_file(device / "device/current_link_width", "16");
  make_file(device / "ports/1/rate", "400 Gb/sec (4X NDR)");
  make_file(sys.path() / "class/net/eth1/mtu", "9000");
  rdma::verbs::GidEntry gid;
  gid.index = 3;
  gid.network_device = "eth1";
  gid.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
  rdma::verbs::DeviceInfo info;
  info.name = "mlx5_0";
  info.ports.emplace_back();
  info.ports.front().active_mtu_bytes = 4096;
  info.ports.front().gids.push_back(gid);
  const std::string text =
      json_text(toml::table{{"devices", device_facts({info}, sys.path().string())}});
  for (const char* part :
       {"\"firmware\" : \"28.43.1014\"", "\"numa_node\" : \"1\"",
        "\"pcie_speed\" : \"32.0 GT/s PCIe\"", "\"pcie_width\" : \"16\"",
        "\"rate\" : \"400 Gb/sec (4X NDR)\"", "\"active_mtu\" : 4096",
        "\"address\" : \"192.0.2.1\"", "\"type\" : \"RoCE v2\"", "\"network_mtu\" : \"9000\""}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace s3rdmafs::daemon::doctor
