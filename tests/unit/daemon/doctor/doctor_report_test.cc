// SPDX-License-Identifier: Apache-2.0
// The file that users send with a question: complete, valid, without secrets, and readable by its
// owner alone.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/doctor/report/full_report.h"
#include "daemon/doctor/report/json.h"
#include "daemon/doctor/report/machine_facts.h"
#include "fakes/temporary_folder.h"

namespace s3rdmafs::daemon::doctor {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

void make_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text << '\n';
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
