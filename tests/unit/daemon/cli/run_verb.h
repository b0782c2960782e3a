// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "daemon/cli/program.h"
#include "daemon/cli/verbs.h"
#include "fakes/temporary_folder.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {

/// The status and the output of one run of the program.
struct Outcome {
  int status = 0;
  std::string out;  ///< standard output
  std::string err;  ///< standard error
};

/// Runs `s3rdmafs ARGUMENTS...` in this process.
inline Outcome run_verb(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "s3rdmafs");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.status = run_program(arguments);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

/// A folder with a mount file. Afterwards the process logs, and may be traced, as before.
class VerbTest : public testing::Test {
 protected:
  VerbTest() {
    // A test run may have variables of its own, such as S3RDMAFS_STRESS_SECONDS, and a mount warns
    // of each that is not a key.
    std::vector<std::string> names;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string_view text = *variable;
      if (text.starts_with("S3RDMAFS_")) names.emplace_back(text.substr(0, text.find('=')));
    }
    for (const std::string& name : names) ::unsetenv(name.c_str());
  }
  ~VerbTest() override {
    spdlog::set_default_logger(log_before_);
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // `mount` cleared it
  }

  /// A mount file for a server that is not there.
  /// @param more  further sections, as TOML
  std::string mount_file(const std::string& more = "") const {
    const std::filesystem::path file = folder_.path() / "mount.toml";
    std::ofstream(file) << "[bucket]\nname = \"data\"\n"
                           "[endpoint]\nurl = \"http://127.0.0.1:1\"\n"
                           "[credentials]\naccess_key_id = \"TESTACCESSKEY\"\n"
                           "secret_access_key = \"testsecretkey0123456789\"\n"
                           "[cache]\nsize = \"64MiB\"\nlock = \"off\"\n"
                           "[rdma]\nmode = \"off\"\n"
                           "[retry]\nattempts_max = 1\n"
                        << more;
    std::filesystem::permissions(
        file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return file;
  }
  /// A directory that nothing is mounted on.
  std::string directory() const {
    const std::filesystem::path made = folder_.path() / "mnt";
    std::filesystem::create_directory(made);
    return std::filesystem::canonical(made);
  }

  const fakes::TemporaryFolder folder_;

 private:
  const std::shared_ptr<spdlog::logger> log_before_ = spdlog::default_logger();
};

}  // namespace s3rdmafs::daemon
